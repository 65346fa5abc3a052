package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// TestChange continues a conversation with another model, elsewhere and with other
// limits; everything else stays, also after a restart.
func TestChange(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(finished("one")), nil)
	h.models["openai/other"] = &model{name: "openai/other", answer: inTurn(finished("two"))}
	c := h.begin(t, "")
	send(t, c, "go")
	settle(t, c)
	if err := c.Change(t.Context(), session.Changes{MaxIterations: 3}); !fault.Is(err, fault.Conflict) {
		t.Errorf("while it is in use: %v", err)
	}
	h.restart(t)
	c = h.get(t, c.ID())
	l := c.Agent().LLM.Clone("agent")
	l.Model, l.APIKey = "openai/other", llm.Secret("the-other-key")
	a, err := c.Agent().WithLLM(l)
	must.Succeed(t, err)
	dir, before := t.TempDir(), c.Placement()
	must.Succeed(t, c.Change(t.Context(), session.Changes{Agent: a, WorkingDir: dir, Note: json.RawMessage(`{"a":1}`)}))
	last, err := h.stream.Last(t.Context(), c.ID())
	must.Succeed(t, err)
	must.Succeed(t, c.Change(t.Context(), session.Changes{Agent: a, WorkingDir: dir}))
	if again, err := h.stream.Last(t.Context(), c.ID()); err != nil || again != last {
		t.Errorf("a change to the same is recorded: event %d after %d, %v", again, last, err)
	}
	h.restart(t)
	c = h.get(t, c.ID())
	if c.Workspace() != dir || !reflect.DeepEqual(c.Placement(), before) || string(c.Note()) != `{"a":1}` || c.Agent().LLM.APIKey.Reveal() != "the-other-key" {
		t.Errorf("workspace %s, placement %+v, note %s, LLM %+v", c.Workspace(), c.Placement(), c.Note(), c.Agent().LLM)
	}
	send(t, c, "again")
	settle(t, c)
	if n := h.models["openai/other"].calls(); n != 1 {
		t.Errorf("the other model was called %d times, want 1", n)
	}
	stored := h.stored(t, c.ID())
	if !strings.Contains(stored, `"key":"agent"`) || strings.Contains(stored, "the-other-key") {
		t.Error("the change of the agent is not recorded, or its key is in the events")
	}
}

// TestChangeElsewhere leaves alone a conversation that another process works on.
func TestChangeElsewhere(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(finished("one")), nil)
	c := h.begin(t, "")
	send(t, c, "go")
	settle(t, c)
	m := h.another(t)
	defer m.Close(context.Background())
	other, err := m.Get(t.Context(), c.ID())
	must.Succeed(t, err)
	if err := other.Change(t.Context(), session.Changes{MaxIterations: 3}); !errors.Is(err, session.ErrLocked) {
		t.Errorf("%v, want %v", err, session.ErrLocked)
	}
}

// TestSetUp gives an agent to an imported conversation.
func TestSetUp(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(finished("went on")), nil)
	id := event.NewConversationID()
	meta := eventstream.Meta{Title: "imported", Extra: []byte(`{"openhands":{"x":1}}`)}
	must.Succeed(t, h.stream.Create(t.Context(), id, meta))
	if _, err := h.stream.Append(t.Context(), id, event.NewUserMessage("before")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Get(t.Context(), id); !fault.Is(err, fault.Unsupported) {
		t.Errorf("without an agent: %v", err)
	}
	c, err := h.SetUp(t.Context(), id, h.request(t, ""))
	must.Succeed(t, err)
	if _, err := h.SetUp(t.Context(), id, h.request(t, "")); !fault.Is(err, fault.Conflict) {
		t.Errorf("twice: %v", err)
	}
	send(t, c, "go on")
	settle(t, c)
	if got := status(t, c); got != string(state.Finished) {
		t.Errorf("status %s", got)
	}
	info, err := h.stream.Info(t.Context(), id)
	if err != nil || info.Meta.Title != "imported" || !strings.Contains(string(info.Meta.Extra), `"openhands":{"x":1}`) {
		t.Errorf("what the import has stored is gone: %+v, %v", info.Meta, err)
	}
}

// TestReplay runs a trajectory again without a model, and goes on with one.
func TestReplay(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("first"), finished("one"), finished("two")), nil)
	c := h.begin(t, "")
	send(t, c, "go")
	settle(t, c)
	var trajectory []event.Event
	for rec, err := range h.stream.Read(t.Context(), c.ID(), 1) {
		must.Succeed(t, err)
		ev, err := rec.Event()
		must.Succeed(t, err)
		trajectory = append(trajectory, ev)
	}
	again := h.begin(t, "")
	if err := again.Replay(t.Context(), nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a message: %v", err)
	}
	must.Succeed(t, again.Replay(t.Context(), trajectory))
	if got, n := status(t, again), h.model.calls(); got != string(state.Finished) || n != 2 {
		t.Errorf("status %s after %d calls of the model, want finished after the 2 of the recording", got, n)
	}
	if stored := h.stored(t, again.ID()); !strings.Contains(stored, `"text":"first"`) || !strings.Contains(stored, `"text":"one"`) {
		t.Errorf("the actions were not done again:\n%s", stored)
	}
	send(t, again, "go on")
	settle(t, again)
	if n := h.model.calls(); n != 3 {
		t.Errorf("the model was called %d times, want 3", n)
	}
}

// TestNoModel reads a conversation that has no model. A message to it is kept, and says
// that one must be set up; once that is done the conversation goes on with it.
func TestNoModel(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(finished("done"), finished("done")), nil)
	h.models["openai/keyless"] = &model{name: "openai/keyless", missing: "an API key", answer: func(context.Context, llm.Request) (*llm.Response, error) {
		return nil, llm.NotSetUp("openai/keyless needs an API key")
	}}
	for name, model := range map[string]string{"none": session.NoModel, "without a key": "openai/keyless"} {
		t.Run(name, func(t *testing.T) {
			h.mu.Lock()
			h.profiles = map[string]string{"default": `{"model":"openai/keyless"}`}
			h.mu.Unlock()
			c, _, err := h.Create(t.Context(), h.request(t, "", "openai/mock", model))
			must.Succeed(t, err)
			if _, err := c.FullState(t.Context()); err != nil {
				t.Errorf("read it: %v", err)
			}
			before := h.model.calls()
			send(t, c, "go")
			settle(t, c)
			if got := status(t, c); got != string(state.Errored) || h.model.calls() != before {
				t.Errorf("status %s after %d calls", got, h.model.calls()-before)
			}
			h.mu.Lock()
			h.profiles["default"] = `{"model":"openai/other"}`
			h.mu.Unlock()
			must.Succeed(t, c.Run(t.Context()))
			settle(t, c)
			if got := status(t, c); got == string(state.Errored) || h.model.calls() == before {
				t.Errorf("status %s after %d calls of the model that was set up", got, h.model.calls()-before)
			}
			if stored := h.stored(t, c.ID()); !strings.Contains(stored, `"text":"go"`) || !strings.Contains(stored, `"openai/other"`) {
				t.Errorf("the message or the switch is not recorded:\n%s", stored)
			}
		})
	}
}

// TestSetLimits goes on with another limit, and refuses it while the agent works.
func TestSetLimits(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("ls"), shell("ls -a"), says("done")), nil)
	request := h.request(t, "")
	request.MaxIterations = 1
	c, _, err := h.Create(t.Context(), request)
	must.Succeed(t, err)
	send(t, c, "list")
	settle(t, c)
	if got := status(t, c); got != "error" {
		t.Fatalf("status %s: %q", got, h.kinds(t, c.ID()))
	}
	want := session.Limits{MaxIterations: 7, MaxCost: 2.5}
	must.Succeed(t, c.SetLimits(t.Context(), want))
	s, err := c.State(t.Context())
	must.Succeed(t, err)
	for usage, m := range s.Stats.UsageToMetrics {
		if m.MaxBudgetPerTask == nil || *m.MaxBudgetPerTask != want.MaxCost {
			t.Errorf("the budget of %s is not recorded", usage)
		}
	}
	if len(s.Stats.UsageToMetrics) == 0 {
		t.Error("no call is counted")
	}
	must.Succeed(t, c.Run(t.Context()))
	settle(t, c)
	if got := lastRecord(t, h, c); got != "agent: done" {
		t.Errorf("last is %q", got)
	}
	h.restart(t)
	if got := h.get(t, c.ID()).Limits(); got != want {
		t.Errorf("limits %+v", got)
	}
}
