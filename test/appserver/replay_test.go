package appserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/internal/waittest"
)

// command is a recorded action.
func command(n int, command string) map[string]any {
	call := fmt.Sprintf("call-%d", n)
	arguments, _ := json.Marshal(map[string]string{"command": command}) // a string
	return map[string]any{
		"kind": "ActionEvent", "id": fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", n), "timestamp": "2026-01-02T03:04:05.000006", "source": "agent",
		"thought": []any{}, "action": map[string]any{"kind": "TerminalAction", "command": command}, "tool_name": "terminal", "tool_call_id": call,
		"tool_call":       map[string]any{"id": call, "name": "terminal", "arguments": string(arguments), "origin": "completion"},
		"llm_response_id": fmt.Sprintf("response-%d", n),
	}
}

// interrupted is a recording in whose middle a test and a command wait for each other.
func interrupted(t *testing.T) []byte {
	t.Helper()
	return trajectory(t,
		userMessage("aaaaaaaa-0000-4000-8000-000000000001", "make it"),
		command(2, "mkfifo begun go"),
		command(3, "echo one >>made; echo x >begun; read x <go; echo two >>made"),
		userMessage("aaaaaaaa-0000-4000-8000-000000000004", "and more"),
		command(5, "echo three >>made"),
	)
}

// replay begins to replay a recording, and returns when its command waits.
func (d deployment) replay(t *testing.T, recording []byte) (made conversation, workspace string) {
	t.Helper()
	status, answer := d.owner.sendRaw(t, d.url+"/api/v1/app-conversations/replay?title=Again", bytes.NewReader(recording))
	if err := json.Unmarshal(answer, &made); status != http.StatusCreated || err != nil {
		t.Fatalf("%d: %s: %v", status, answer, err)
	}
	waittest.Until(t, "the pipes are made", func() bool {
		done := 0
		d.owner.do(t, "GET", d.url+"/api/v1/conversation/"+made.ID+"/events/count?kind__eq=ObservationEvent", nil, &done)
		return done > 0
	})
	workspace = d.workspace(made.Sandbox)
	waitFor(t, filepath.Join(workspace, "begun"))
	return made, workspace
}

// whole fails unless a conversation has replayed all, each action once and without a model.
func (d deployment) whole(t *testing.T, made conversation, workspace string) {
	t.Helper()
	want := []string{
		"user MessageEvent", "agent ActionEvent", "environment ObservationEvent", "agent ActionEvent", "environment ObservationEvent", "agent MessageEvent",
		"user MessageEvent", "agent ActionEvent", "environment ObservationEvent", "agent MessageEvent",
	}
	if diff := cmp.Diff(want, acts(d.follow(t, d.conversation(t, made.ID), "finished", "finished"))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if raw, err := os.ReadFile(filepath.Join(workspace, "made")); string(raw) != "one\ntwo\nthree\n" || err != nil {
		t.Errorf("the commands have made %q, %v", raw, err)
	}
	if n := d.llm.Count(); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestReplayOfKilledServer: a replay goes on where it was when its server is killed, and starts
// again.
func TestReplayOfKilledServer(t *testing.T) {
	t.Parallel()
	d := deploy(t, `{turns: []}`, options{})
	made, workspace := d.replay(t, interrupted(t))
	if status, raw := d.owner.send(t, "POST", d.url+"/api/v1/app-conversations/"+made.ID+"/send-message", text("what is it?")); status != http.StatusConflict || !strings.Contains(string(raw), "replays") {
		t.Errorf("a message to a replay: %d: %s", status, raw)
	}
	d.kill(t)
	d = d.again(t, options{})
	tell(t, filepath.Join(workspace, "go"))
	d.whole(t, made, workspace)
	waittest.Until(t, "the recording is removed", func() bool { // the end is stored after the last event
		left, err := filepath.Glob(filepath.Join(d.data, "files", "replays", "*"))
		return len(left) == 0 && err == nil
	})
}

// TestReplayOfLostServer: another server goes on with the replay of one that is killed.
func TestReplayOfLostServer(t *testing.T) {
	t.Parallel()
	database := postgrestest.URL(t)
	d := deploy(t, `{turns: []}`, options{database: database})
	other := d.again(t, options{database: database})
	made, workspace := d.replay(t, interrupted(t))
	d.kill(t)
	tell(t, filepath.Join(workspace, "go"))
	other.whole(t, made, workspace)
}

// TestReplayThatIsLost: a replay whose recording is gone ends in an error that its user sees.
func TestReplayThatIsLost(t *testing.T) {
	t.Parallel()
	d := deploy(t, `{turns: []}`, options{})
	made, workspace := d.replay(t, interrupted(t))
	d.kill(t)
	must.Succeed(t, os.RemoveAll(filepath.Join(d.data, "files", "replays")))
	d = d.again(t, options{})
	d.follow(t, d.conversation(t, made.ID), "error")
	var found struct{ Items []json.RawMessage }
	d.owner.do(t, "GET", d.url+"/api/v1/conversation/"+made.ID+"/events/search?kind__eq=ConversationErrorEvent", nil, &found)
	if len(found.Items) != 1 || !strings.Contains(string(found.Items[0]), "ReplayFailed") {
		t.Errorf("the errors are %s", found.Items)
	}
	if n := d.llm.Count(); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	tell(t, filepath.Join(workspace, "go"))
}
