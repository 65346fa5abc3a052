package formerevent_test

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestPaths: the page finds the changes of a file by the path of the action.
func TestPaths(t *testing.T) {
	t.Parallel()
	for is, want := range map[string]string{
		"/data/1/project/a.txt":   "/workspace/project/a.txt",
		"/data/1/project/b/a.txt": "/workspace/project/b/a.txt",
		"/data/1":                 "/data/1",
		"/data/12/a.txt":          "/data/12/a.txt",
		"/etc/passwd":             "/etc/passwd",
		"a.txt":                   "a.txt",
	} {
		var got struct {
			Action struct{ Kind, Path, Command string }
		}
		raw := fmt.Appendf(nil, `{"id":"1","source":"agent","kind":"ActionEvent","thought":[],"action":{"kind":"FileEditorAction","command":"create","path":%q}}`, is)
		if err := json.Unmarshal(within.Event(raw), &got); err != nil {
			t.Fatal(err)
		}
		if got.Action.Path != want || got.Action.Command != "create" {
			t.Errorf("of %s the page gets %+v, want %s", is, got.Action, want)
		}
		if err := json.Unmarshal(anywhere.Event(raw), &got); err != nil || got.Action.Path != is {
			t.Errorf("without a workspace the page gets %+v of %s: %v", got.Action, is, err)
		}
	}
}

// TestUploads: the agent is told where the files are that the page says to have uploaded.
func TestUploads(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"look\n\nNEW FILES ADDED: /workspace/a b.txt\n\n/workspace/c.txt": "look\n\nNEW FILES ADDED: /data/1/project/a b.txt\n\n/data/1/project/c.txt",
		"look into /workspace/a.txt and tell":                             "look into /workspace/a.txt and tell",
		"NEW FILES ADDED: /workspace/project/a.txt":                       "NEW FILES ADDED: /workspace/project/a.txt",
		"NEW FILES ADDED: /etc/passwd":                                    "NEW FILES ADDED: /etc/passwd",
		"plain":                                                           "plain",
	} {
		raw, err := json.Marshal(map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": sent}}})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(within.Message(raw, "/data/1/project"), &got); err != nil || got.Content[0].Text != want {
			t.Errorf("of %q the agent gets %q, want %q: %v", sent, got.Content, want, err)
		}
	}
}
