package session_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

const always = `"confirmation_policy":{"kind":"AlwaysConfirm"}`

func TestConfirm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(*session.Conversation, context.Context) error
		want   []string // behind the waiting
		first  string   // status after the answer
	}{
		"accept": {
			func(c *session.Conversation, ctx context.Context) error { return c.Respond(ctx, true, "") },
			[]string{"running", "ObservationEvent", "agent: done", "finished"}, "finished",
		},
		"reject": {
			func(c *session.Conversation, ctx context.Context) error {
				return c.Respond(ctx, false, "not that")
			},
			[]string{"UserRejectObservation", "idle"}, "idle",
		},
		"superseded": {
			func(c *session.Conversation, ctx context.Context) error {
				return c.Send(ctx, message("something else", true))
			},
			[]string{"UserRejectObservation", "user: something else", "running", "agent: done", "finished"}, "finished",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, inTurn(shell("ls"), says("done")), nil)
			conv := h.begin(t, always)
			send(t, conv, "list")
			settle(t, conv)
			if got := status(t, conv); got != "waiting_for_confirmation" {
				t.Fatalf("status %s", got)
			}
			before := h.kinds(t, conv.ID())
			must(t, c.answer(conv, t.Context()))
			settle(t, conv)
			if diff := cmp.Diff(c.want, h.kinds(t, conv.ID())[len(before):]); diff != "" {
				t.Errorf("events after the answer (-want +got):\n%s", diff)
			}
			if got := status(t, conv); got != c.first {
				t.Errorf("status %s", got)
			}
		})
	}
}

// TestRefuseSome refuses one of two actions: the other one waits on, and runs when it is accepted.
func TestRefuseSome(t *testing.T) {
	t.Parallel()
	both := shell("rm x")
	both.Message.ToolCalls = append(both.Message.ToolCalls, shell("ls").Message.ToolCalls...)
	h := setup(t, inTurn(both, says("done")), nil)
	c := h.begin(t, always)
	send(t, c, "clean up")
	settle(t, c)
	all, err := c.Questions(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%d questions, %v", len(all), err)
	}
	if err := c.Refuse(t.Context(), map[event.ID]string{all[0].Action: "not that"}); err != nil {
		t.Fatal(err)
	}
	left, err := c.Questions(t.Context())
	if err != nil || len(left) != 1 || left[0].Action != all[1].Action || status(t, c) != "waiting_for_confirmation" {
		t.Fatalf("after a refusal: %v, %v, status %s", left, err, status(t, c))
	}
	before := len(h.kinds(t, c.ID()))
	if err := c.Respond(t.Context(), true, ""); err != nil {
		t.Fatal(err)
	}
	settle(t, c)
	if diff := cmp.Diff([]string{"running", "ObservationEvent", "agent: done", "finished"}, h.kinds(t, c.ID())[before:]); diff != "" {
		t.Errorf("events after the answer (-want +got):\n%s", diff)
	}
	if err := c.Refuse(t.Context(), map[event.ID]string{all[0].Action: "again"}); err != nil {
		t.Errorf("nothing waits: %v", err)
	}
}

// TestConfirmAfterRestart keeps waiting, and runs the waiting action once.
func TestConfirmAfterRestart(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("ls"), says("done")), nil)
	c := h.begin(t, always)
	send(t, c, "list")
	settle(t, c)
	h.restart(t)
	if n, err := h.Resume(t.Context()); n != 0 || err != nil {
		t.Errorf("resumed %d: %v", n, err)
	}
	c = h.get(t, c.ID())
	must(t, c.Respond(t.Context(), true, ""))
	settle(t, c)
	if n := strings.Count(strings.Join(h.kinds(t, c.ID()), "\n"), "ObservationEvent"); n != 1 {
		t.Errorf("%d results: %q", n, h.kinds(t, c.ID()))
	}
}

// TestAnalysis rates actions that the model calls risky, reports it, and waits for
// them alone.
func TestAnalysis(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(
		does("terminal", `{"command":"ls","security_risk":"LOW"}`),
		does("terminal", `{"command":"rm x","security_risk":"HIGH"}`), says("done"),
	), nil)
	c := h.begin(t, `"confirmation_policy":{"kind":"ConfirmRisky","threshold":"HIGH"},"security_analyzer":{"kind":"LLMSecurityAnalyzer"}`)
	send(t, c, "clean up")
	settle(t, c)
	if got := status(t, c); got != "waiting_for_confirmation" {
		t.Errorf("status %s", got)
	}
	kinds := h.kinds(t, c.ID())
	if !slices.Contains(kinds, "SecurityAnalysisEvent") {
		t.Errorf("no analysis: %q", kinds)
	}
	if n := strings.Count(strings.Join(kinds, "\n"), "ObservationEvent"); n != 1 {
		t.Errorf("%d results before the answer: %q", n, kinds)
	}
	if !strings.Contains(h.stored(t, c.ID()), `"security_risk":"HIGH"`) {
		t.Error("the rating is not in the events")
	}
}

// TestUnrated takes the model's rating out where nobody asked for it.
func TestUnrated(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(does("terminal", `{"command":"rm x","security_risk":"HIGH"}`), says("done")), nil)
	c := h.begin(t, "")
	send(t, c, "clean up")
	settle(t, c)
	if s := h.stored(t, c.ID()); strings.Contains(s, `"security_risk":"HIGH"`) || !strings.Contains(s, `"security_risk":"UNKNOWN"`) {
		t.Error("the rating is in the events")
	}
	if slices.Contains(h.kinds(t, c.ID()), "SecurityAnalysisEvent") {
		t.Error("an analysis without an analyser")
	}
}

func TestPolicyRefused(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), nil)
	c := h.begin(t, "")
	for _, raw := range []string{`{}`, `null`, `[]`, `{"kind":"Nobody"}`, `{"kind":"ConfirmRisky","threshold":7}`} {
		if err := c.SetPolicy(t.Context(), json.RawMessage(raw)); err == nil {
			t.Errorf("took the policy %s", raw)
		}
	}
	if n := len(h.kinds(t, c.ID())); n != 0 {
		t.Errorf("%d events of refused policies", n)
	}
	if err := c.Condense(t.Context()); !fault.Is(err, fault.Conflict) {
		t.Errorf("condensed without a condenser: %v", err)
	}
}
