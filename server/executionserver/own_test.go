package executionserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/executionserver"
	"github.com/deft-dev/deft/tool"
)

// tickets is an executor with a tool of its own: it waits if it is told to.
type tickets struct{ closed *int }

func (x tickets) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	raw, err := event.MarshalAction(c.Action)
	if err != nil {
		return nil, err
	}
	var args struct {
		Owner string `json:"owner"`
		Wait  bool   `json:"wait"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	if args.Wait {
		<-ctx.Done()
	}
	text := "1 ticket of " + args.Owner + " for " + c.Tool
	return event.UnmarshalObservation([]byte(`{"kind":"ListTicketsObservation","content":[{"type":"text","text":"` + text + `"}],"is_error":` +
		map[bool]string{true: "true", false: "false"}[args.Wait] + `,"count":1}`))
}

func (x tickets) Close() error { *x.closed++; return nil }

func ticketTool(t *testing.T, name string) *tool.Definition {
	t.Helper()
	e := tool.External{Name: name, Description: "Lists tickets.", Parameters: json.RawMessage(
		`{"type":"object","properties":{"owner":{"type":"string"},"wait":{"type":"boolean"}},"required":["owner"]}`)}
	must.Succeed(t, e.Complete())
	return e.Definition()
}

// TestOwnTools: an action that an executor brings is run by the name of its tool, as all
// others are, and wrong ones are refused.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	b := open(t, "k")
	for _, c := range []struct{ action, content string }{
		{`{"action":"list_tickets","args":{"owner":"ada"}}`, "1 ticket of ada for list_tickets"},
		{`{"action":"list_tickets","args":{"owner":"bo","thought":"I look","security_risk":1,"confirmation_state":"confirmed"}}`, "1 ticket of bo for list_tickets"},
	} {
		if o := b.act(c.action); o.Observation != "list_tickets" || o.Content != c.content || o.Extras["count"] != 1.0 || o.Success == nil || !*o.Success {
			t.Errorf("%s: %+v", c.action, o)
		}
	}
	if o := b.act(`{"action":"list_tickets","args":{"owner":"ada","wait":true},"timeout":0.1}`); o.Success == nil || *o.Success {
		t.Errorf("after its time: %+v", o)
	}
	if o := b.act(`{"action":"run","args":{"command":"echo built in"}}`); o.Content != "built in" {
		t.Errorf("the shell: %+v", o)
	}
	for action, want := range map[string]string{
		`{"action":"list_tickets"}`:                     `needs the argument \"owner\"`,
		`{"action":"list_tickets","args":[]}`:           "arguments of list_tickets",
		`{"action":"list_ticket","args":{"owner":"a"}}`: "'list_ticket' is not defined",
	} {
		if status, raw := b.post("/execute_action", `{"action":`+action+`}`); status != http.StatusInternalServerError || !strings.Contains(string(raw), want) {
			t.Errorf("%s: %d %s", action, status, raw)
		}
	}
}

func TestOwnToolWithTakenName(t *testing.T) {
	t.Parallel()
	set, err := tool.NewSet(ticketTool(t, "run_ipython"))
	must.Succeed(t, err)
	if _, err := executionserver.New(executionserver.Options{WorkingDir: t.TempDir(), Own: set}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "run_ipython") {
		t.Errorf("%v", err)
	}
}
