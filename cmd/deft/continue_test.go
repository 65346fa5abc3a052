package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// server is a `deft agent-server` on the conversations of `deft run`.
type server struct {
	*running
	url string
}

func (b *bench) serve(t *testing.T) *server {
	t.Helper()
	p := b.start(t, "agent-server", "--port", "0")
	p.until(t, "conversations in ")
	p.mu.Lock()
	defer p.mu.Unlock()
	m := regexp.MustCompile(`http://\S+`).FindString(p.text.String())
	if m == "" {
		t.Fatalf("no address in %q", p.text.String())
	}
	return &server{p, m}
}

// call sends a request and decodes the answer into out, unless that is nil.
func (s *server) call(t *testing.T, method, path string, body, out any) {
	t.Helper()
	raw, err := json.Marshal(body)
	must.Succeed(t, err)
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(raw))
	must.Succeed(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must.Succeed(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %v\n%s", method, path, resp.Status, err, got)
	}
	if out != nil {
		if err := json.Unmarshal(got, out); err != nil {
			t.Fatalf("%s %s: %v\n%s", method, path, err, got)
		}
	}
}

// stop ends the server, which gives its conversations free.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.signal(t, os.Interrupt)
	if code, out := s.wait(t); code != 0 {
		t.Fatalf("the agent server: exit code %d:\n%s", code, out)
	}
}

// untilFinished follows a conversation until its nth run has finished.
func (b *bench) untilFinished(t *testing.T, id string, n int) {
	t.Helper()
	const finished = `"key":"execution_status","value":"finished"`
	p := b.start(t, "conversations", "show", "--json", "--follow", id)
	p.untilTimes(t, finished, n)
	p.signal(t, os.Kill)
	p.wait(t)
}

// replies are the user's messages and the agent's answers of a conversation.
func (b *bench) replies(t *testing.T) (out []string) {
	t.Helper()
	for line := range strings.Lines(b.run(t, 0, "conversations", "show", "--json", "last")) {
		var ev struct {
			Kind       string `json:"kind"`
			Source     string `json:"source"`
			LLMMessage struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"llm_message"`
			Observation struct {
				Kind    string `json:"kind"`
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"observation"`
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch {
		case ev.Kind == "MessageEvent" && ev.Source == "user":
			out = append(out, "user: "+ev.LLMMessage.Content[0].Text)
		case ev.Kind == "MessageEvent":
			out = append(out, "agent: "+ev.LLMMessage.Content[0].Text)
		case ev.Observation.Kind == "TerminalObservation":
			out = append(out, "terminal: "+ev.Observation.Content[0].Text)
		case ev.Observation.Kind == "FinishObservation":
			out = append(out, "finish: "+ev.Observation.Content[0].Text)
		}
	}
	return out
}

// TestContinueElsewhere begins a conversation with deft run, goes on through the
// agent server, and comes back.
func TestContinueElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: one}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo from-run > file; cat file"}}]}}
  - {match: {user: one}, reply: {tool_calls: [{name: finish, arguments: {message: "did one"}}]}}
  - {match: {user: two}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo from-server >> file; cat file"}}]}}
  - {match: {user: two}, reply: {tool_calls: [{name: finish, arguments: {message: "did two"}}]}}
  - {match: {user: three}, reply: {tool_calls: [{name: terminal, arguments: {command: "cat file"}}]}}
  - {match: {user: three}, reply: {tool_calls: [{name: finish, arguments: {message: "did three"}}]}}
`)
	b.run(t, 0, "run", "one")
	s := b.serve(t)
	var page struct {
		Items []struct {
			ID    string `json:"id"`
			Title string `json:"title"`
			Agent struct {
				LLM struct {
					Model string `json:"model"`
				} `json:"llm"`
			} `json:"agent"`
		} `json:"items"`
	}
	s.call(t, "GET", "/api/conversations/search", nil, &page)
	if len(page.Items) != 1 || page.Items[0].Title != "one" || page.Items[0].Agent.LLM.Model != "openai/scripted" {
		t.Fatalf("the server's conversations: %+v", page.Items)
	}
	id := page.Items[0].ID
	s.call(t, "POST", "/api/conversations/"+id+"/events", map[string]any{
		"role": "user", "run": true, "content": []map[string]string{{"type": "text", "text": "two"}},
	}, nil)
	b.untilFinished(t, id, 2)
	s.stop(t)
	if out := b.run(t, 0, "run", "--resume", "last", "three"); !strings.Contains(out, "did three") {
		t.Errorf("the resume:\n%s", out)
	}
	want := []string{
		"user: one", "terminal: from-run", "finish: did one",
		"user: two", "terminal: from-run\nfrom-server", "finish: did two",
		"user: three", "terminal: from-run\nfrom-server", "finish: did three",
	}
	got := b.replies(t)
	for i := range got { // the terminal adds where it is
		got[i], _, _ = strings.Cut(got[i], "\n[The command")
		got[i] = strings.TrimRight(got[i], "\n")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
}

// TestContinueHere takes up a conversation that the agent server has made: it
// keeps its model and key, and runs in a sandbox.
func TestContinueHere(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: one}, reply: {tool_calls: [{name: finish, arguments: {message: "did one"}}]}}
  - {match: {user: two}, reply: {tool_calls: [{name: terminal, arguments: {command: "ls $HOME >/dev/null && touch $HOME/escaped; true"}}]}}
  - {match: {user: two}, reply: {tool_calls: [{name: finish, arguments: {message: "did two"}}]}}
`)
	s := b.serve(t)
	var made struct {
		ID string `json:"id"`
	}
	s.call(t, "POST", "/api/conversations", map[string]any{
		"agent": map[string]any{
			"kind": "Agent", "tools": []map[string]string{{"name": "terminal"}},
			"llm": map[string]any{"model": "openai/served", "api_key": "sk-served", "base_url": b.llm.URL + "/v1", "usage_id": "agent"},
		},
		"autotitle":       false,
		"workspace":       map[string]string{"kind": "LocalWorkspace", "working_dir": b.ws},
		"initial_message": map[string]any{"role": "user", "content": []map[string]string{{"type": "text", "text": "one"}}},
	}, &made)
	b.untilFinished(t, made.ID, 1)
	s.stop(t)
	if out := b.run(t, 0, "run", "--resume", made.ID, "two"); !strings.Contains(out, "did two") {
		t.Errorf("the resume:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(b.home, "escaped")); !os.IsNotExist(err) {
		t.Errorf("the command ran outside of a sandbox: %v", err)
	}
	for _, r := range b.llm.Requests() {
		if r.Model != "served" {
			t.Errorf("a call of %s, want one of the conversation's own model", r.Model)
		}
	}
}
