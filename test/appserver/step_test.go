package appserver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestStepFiles forks and rewinds a conversation in the middle of a turn, with the files
// of that step, and says which those are.
func TestStepFiles(t *testing.T) {
	t.Parallel()
	d := join(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo one >a"}}]}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo two >a"}}]}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo three >a"}}]}
  - reply: {text: written}
`)
	c, _ := d.begin(t, map[string]any{"title": "Steps", "initial_message": text("write it")})
	d.follow(t, c, "finished")
	var found struct{ Items []struct{ ID string } }
	d.owner.do(t, "GET", d.url+"/api/v1/conversation/"+c.ID+"/events/search?kind__eq=ObservationEvent", nil, &found)
	if len(found.Items) != 3 {
		t.Fatalf("%d results", len(found.Items))
	}
	at := d.url + "/api/v1/app-conversations/" + c.ID
	for i, item := range found.Items {
		var kept struct {
			Event       string `json:"event_id"`
			Time        string
			Checkpoints string
			Slow        bool
		}
		d.owner.do(t, "GET", at+"/checkpoint?event_id="+item.ID, nil, &kept)
		if last := i == len(found.Items)-1; kept.Event != item.ID || kept.Checkpoints != "step" || kept.Slow || (kept.Time == "") != last {
			t.Errorf("after step %d: %+v", i+1, kept)
		}
	}
	var fork conversation
	d.owner.do(t, "POST", at+"/fork", map[string]any{"event_id": found.Items[1].ID}, &fork)
	d.owner.do(t, "POST", at+"/undo", map[string]any{"event_id": found.Items[0].ID}, nil)
	for sandbox, want := range map[string]string{fork.Sandbox: "two\n", c.Sandbox: "one\n"} {
		if raw, err := os.ReadFile(filepath.Join(d.workspace(sandbox), "a")); err != nil || string(raw) != want {
			t.Errorf("%q, %v; want %q", raw, err, want)
		}
	}
	if status, raw := d.owner.send(t, "GET", at+"/checkpoint?event_id=none", nil); status != http.StatusNotFound {
		t.Errorf("an unknown event: %d: %s", status, raw)
	}
	bob := &client{http: http.DefaultClient, api: addOwner(t, d.server, "bob")}
	if status, raw := bob.send(t, "GET", at+"/checkpoint", nil); status != http.StatusNotFound {
		t.Errorf("another owner: %d: %s", status, raw)
	}
}
