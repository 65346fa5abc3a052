package conversation

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
)

// TestEncodeDocument compares documents with what encoding/json makes of them.
func TestEncodeDocument(t *testing.T) {
	t.Parallel()
	title, id := `a "title" <&> é`, event.ID("e1")
	full := config{
		Created: time.Unix(1, 2).UTC(), Workspace: Workspace{WorkingDir: `/a"b`}, MaxIterations: 7, StuckDetection: true,
		Policy: json.RawMessage(`{"kind":"NeverConfirm"}`), Agent: json.RawMessage(`{"llm":{"model":"m"}}`),
		SecretRefs: []string{"<a>"}, ClientTools: []json.RawMessage{json.RawMessage(`{"a":1}`)},
		ToolModules: map[string]string{"b": "c", "a": "d"}, TitlePrompt: "line\nline", SubConversations: []event.ConversationID{"x"},
	}
	for name, v := range map[string]any{
		"no description": description{},
		"description":    description{ID: "c", Title: &title, Leaf: &id, Stats: noStats, Tags: map[string]string{"k": "v"}, Children: []string{}},
		"no full state":  fullState{},
		"full state":     fullState{ID: "c", Leaf: &id, HeadIsEmpty: true, Agent: emptyObject, HookConfig: emptyObject, AgentState: null},
		"nothing stored": stored{},
		"stored":         stored{Seq: 5, Size: 2, Snapshot: emptyObject, Config: full, PathRules: emptyList},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			got, err := encodeDocument(v)
			if err != nil || string(got) != string(want) {
				t.Errorf("got  %s\nwant %s\n%v", got, want, err)
			}
		})
	}
	if _, err := encodeDocument(struct {
		C chan int `json:"c"`
	}{make(chan int)}); err == nil {
		t.Error("no error for what has no JSON")
	}
}
