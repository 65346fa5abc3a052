package appserver_test

import (
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/waittest"
)

// TestCallbacks: a server that is killed in the middle of an action and started again has
// one result of an event callback for each event.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	one := deploy(t, script, options{})
	var sandbox struct {
		ID string `json:"id"`
	}
	one.owner.do(t, "POST", one.url+"/api/v1/sandboxes", nil, &sandbox)
	workspace := one.workspace(sandbox.ID)
	pipes(t, workspace, "begun", "go")
	c, _ := one.begin(t, map[string]any{
		"sandbox_id": sandbox.ID, "initial_message": text("make it"),
		"processors": []any{map[string]any{"kind": "SetTitleCallbackProcessor"}, map[string]any{"kind": "LoggingCallbackProcessor", "unknown": "field"}},
	})
	waitFor(t, filepath.Join(workspace, "begun"))
	one.kill(t)
	again := one.again(t, options{})
	tell(t, filepath.Join(workspace, "go"))
	again.follow(t, c, "finished")

	base := again.url + "/api/v1/app-conversations/" + c.ID
	var callbacks []struct {
		ID        string
		Status    string
		Processor struct{ Kind string }
	}
	again.owner.do(t, "GET", base+"/callbacks", nil, &callbacks)
	if len(callbacks) != 1 || callbacks[0].Status != "ACTIVE" || callbacks[0].Processor.Kind != "LoggingCallbackProcessor" {
		t.Fatalf("the callbacks: %+v", callbacks)
	}
	type event struct {
		ID        string
		Timestamp string
	}
	waittest.Until(t, "each event is processed", func() bool {
		var events struct{ Items []event }
		again.owner.do(t, "GET", again.url+"/api/v1/conversation/"+c.ID+"/events/search", nil, &events)
		var results struct {
			Items []struct {
				Event    string `json:"event_id"`
				Callback string `json:"event_callback_id"`
				Status   string
			}
		}
		again.owner.do(t, "GET", base+"/callbacks/results", nil, &results)
		times := map[string]int{}
		for _, r := range results.Items {
			if times[r.Event]++; r.Status != "SUCCESS" || r.Callback != callbacks[0].ID {
				t.Fatalf("a result: %+v", r)
			}
		}
		complete := len(events.Items) >= 4
		for _, e := range events.Items {
			if times[e.ID] > 1 {
				t.Fatalf("the event %s was processed %d times", e.ID, times[e.ID])
			}
			complete = complete && times[e.ID] == 1
		}
		return complete
	})
	again.owner.do(t, "DELETE", base, nil, nil)
	if status, raw := again.owner.send(t, "GET", base+"/callbacks", nil); status != 404 {
		t.Errorf("the callbacks of a deleted conversation: %d %s", status, raw)
	}
}
