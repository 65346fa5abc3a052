package appserver_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// script runs a command that says when it has begun, and waits to be told to go on.
const script = `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo one >>made; echo x >begun; read x <go; echo two >>made"}}]}
  - reply: {text: it is made}
`

// TestKilledServer kills one of two servers in the middle of an action: the other one
// takes over the conversation, joins the action, which runs once, and finishes, also if
// somebody looks at it there before the end of the first one is noticed.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	for name, watched := range map[string]bool{"alone": false, "watched": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKilledServer(t, watched)
		})
	}
}

func testKilledServer(t *testing.T, watched bool) {
	dir, database := t.TempDir(), postgrestest.URL(t)
	model, err := llmtest.Parse([]byte(script))
	must.Succeed(t, err)
	llm := llmtest.Start(t, model)
	one := start(t, options{dir: dir, database: database})
	const continues = "continue a conversation of a process that has ended"
	other := start(t, options{dir: dir, database: database, awaited: []string{continues}})
	owner := newClient(t, one)

	var sandbox struct {
		ID  string `json:"id"`
		Key string `json:"session_api_key"`
	}
	owner.do(t, "POST", one.url+"/api/v1/sandboxes", nil, &sandbox)
	t.Cleanup(func() { owner.do(t, "DELETE", other.url+"/api/v1/sandboxes/"+sandbox.ID, nil, nil) })
	agent := &client{http: owner.http, key: sandbox.Key}
	owner.do(t, "POST", other.url+"/api/v1/settings", map[string]any{"agent_settings_diff": map[string]any{
		"llm": map[string]any{"model": "openai/scripted", "base_url": llm.URL + "/v1", "api_key": "k"},
	}}, nil)

	workspace := one.workspace(sandbox.ID)
	pipes(t, workspace, "begun", "go")
	id := string(event.NewConversationID())
	owner.do(t, "POST", one.url+"/api/v1/app-conversations", map[string]any{
		"conversation_id": id, "sandbox_id": sandbox.ID,
		"initial_message": map[string]any{"role": "user", "run": true, "content": []any{map[string]any{"type": "text", "text": "make it"}}},
	}, nil)
	waitFor(t, filepath.Join(workspace, "begun"))
	if got := status(t, owner, other, id); got != "running" {
		t.Errorf("the other server says that the conversation is %s", got)
	}

	killed := time.Now()
	one.kill(t)
	if watched { // a request opens the conversation
		agent.do(t, "GET", other.url+"/api/conversations/"+id, nil, nil)
	}
	other.await(t, continues)
	t.Logf("taken over after %v", time.Since(killed))
	tell(t, filepath.Join(workspace, "go"))
	var kinds []string
	for r, err := range follow(t, database, id) {
		must.Succeed(t, err)
		if slices.Contains([]string{"ActionEvent", "ObservationEvent", "AgentErrorEvent", "MessageEvent"}, r.Kind) {
			kinds = append(kinds, string(r.Source)+" "+r.Kind)
		}
		if now, _ := eventstream.Changes(r); now != nil && *now != "running" && *now != "idle" {
			kinds = append(kinds, *now)
			break
		}
	}
	want := []string{"user MessageEvent", "agent ActionEvent", "environment ObservationEvent", "agent MessageEvent", "finished"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	made, err := os.ReadFile(filepath.Join(workspace, "made"))
	if err != nil || string(made) != "one\ntwo\n" {
		t.Errorf("the command has made %q, %v", made, err)
	}
	if got := status(t, owner, other, id); got != "finished" {
		t.Errorf("the conversation is %s", got)
	}
}

// pipes makes pipes with which a command and a test wait for each other.
func pipes(t *testing.T, dir string, names ...string) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(dir, 0o755))
	for _, name := range names {
		must.Succeed(t, syscall.Mkfifo(filepath.Join(dir, name), 0o666))
	}
}

// waitFor waits until a pipe is written to.
func waitFor(t *testing.T, pipe string) {
	t.Helper()
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for a writer
	if err == nil {
		defer f.Close()
		_, err = f.Read(make([]byte, 64))
	}
	if err != nil {
		t.Fatalf("wait for %s: %v", filepath.Base(pipe), err)
	}
}

// tell writes a line to a pipe that is read, or will be before the test ends.
func tell(t *testing.T, pipe string) {
	t.Helper()
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for a reader
	must.Succeed(t, err)
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString("x\n"); err != nil {
		t.Fatal(err)
	}
}

// status is the status of a conversation as a server shows it.
func status(t *testing.T, c *client, s *server, id string) string {
	t.Helper()
	var found []struct {
		Status string `json:"execution_status"`
	}
	c.do(t, "GET", s.url+"/api/v1/app-conversations?ids="+id, nil, &found)
	if len(found) != 1 {
		t.Fatalf("the server shows %d conversations", len(found))
	}
	return found[0].Status
}

// follow follows the events of a conversation in the database, for a minute.
func follow(t *testing.T, database, id string) func(func(eventstream.Record, error) bool) {
	t.Helper()
	s, err := postgres.Open(t.Context(), database, postgres.Options{})
	must.Succeed(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Follow(ctx, event.ConversationID(id), 1)
}
