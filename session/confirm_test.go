package session_test

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
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
			func(c *session.Conversation, ctx context.Context) error {
				return c.Confirmation().Respond(ctx, true, "")
			},
			[]string{"running", "ObservationEvent", "agent: done", "finished"}, "finished",
		},
		"reject": {
			func(c *session.Conversation, ctx context.Context) error {
				return c.Confirmation().Respond(ctx, false, "not that")
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
			must.Succeed(t, c.answer(conv, t.Context()))
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

// TestRejectionPublishesNoState checks that a client that rejects and runs again receives no
// state of rest in between: OpenHands' client would take it for the end of the new run.
func TestRejectionPublishesNoState(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("ls"), says("done")), nil)
	c := h.begin(t, always)
	send(t, c, "list")
	settle(t, c)
	published := make(chan string, 1000)
	stop := c.Watch(func(tr session.Transient) {
		if tr.FullState {
			published <- string(tr.Event)
		}
	})
	defer stop()
	must.Succeed(t, c.Confirmation().Respond(t.Context(), false, "not that"))
	for len(published) > 0 {
		if state := <-published; !strings.Contains(state, `"waiting_for_confirmation"`) {
			t.Errorf("published: %s", state)
		}
	}
}

// lingering is a store whose appends return only once they may, when the event of a wait is stored.
type lingering struct {
	eventstream.Stream
	stored, release chan struct{}
}

func (l lingering) Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (eventstream.Seq, error) {
	seq, err := l.Stream.Append(ctx, id, evs...)
	for _, ev := range evs {
		if up, ok := ev.(*event.ConversationStateUpdateEvent); ok && string(up.Value) == `"waiting_for_confirmation"` {
			close(l.stored)
			<-l.release
		}
	}
	return seq, err
}

// TestQuestionsAfterTheirEvent asks for the questions as soon as the event of the wait is stored.
func TestQuestionsAfterTheirEvent(t *testing.T) {
	t.Parallel()
	l := lingering{stored: make(chan struct{}), release: make(chan struct{})}
	h := setup(t, inTurn(shell("ls"), says("done")), func(o *session.Options) {
		l.Stream = o.Store
		o.Store = l
	})
	c := h.begin(t, always)
	send(t, c, "list")
	<-l.stored
	asking := make(chan struct{})
	asked := make(chan int)
	go func() {
		close(asking)
		all, err := c.Confirmation().Questions(context.Background())
		if err != nil {
			t.Error(err)
		}
		asked <- len(all)
	}()
	<-asking
	for range 1000 {
		runtime.Gosched() // it asks before the store answers
	}
	close(l.release)
	if n := <-asked; n != 1 {
		t.Errorf("%d questions, want 1", n)
	}
	settle(t, c)
}

// TestRefuseSome refuses one of two actions: the other one waits on, and runs when it is accepted.
func TestRefuseSome(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(twoCalls("rm x", "ls"), says("done")), nil)
	c := h.begin(t, always)
	send(t, c, "clean up")
	settle(t, c)
	all, err := c.Confirmation().Questions(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%d questions, %v", len(all), err)
	}
	must.Succeed(t, c.Confirmation().Refuse(t.Context(), map[event.ID]string{all[0].Action: "not that"}))
	left, err := c.Confirmation().Questions(t.Context())
	if err != nil || len(left) != 1 || left[0].Action != all[1].Action || status(t, c) != "waiting_for_confirmation" {
		t.Fatalf("after a refusal: %v, %v, status %s", left, err, status(t, c))
	}
	before := len(h.kinds(t, c.ID()))
	must.Succeed(t, c.Confirmation().Respond(t.Context(), true, ""))
	settle(t, c)
	if diff := cmp.Diff([]string{"running", "ObservationEvent", "agent: done", "finished"}, h.kinds(t, c.ID())[before:]); diff != "" {
		t.Errorf("events after the answer (-want +got):\n%s", diff)
	}
	if err := c.Confirmation().Refuse(t.Context(), map[event.ID]string{all[0].Action: "again"}); err != nil {
		t.Errorf("nothing waits: %v", err)
	}
}

// twoCalls is an answer of the model with two commands.
func twoCalls(one, other string) *llm.Response {
	both := shell(one)
	both.Message.ToolCalls = append(both.Message.ToolCalls, shell(other).Message.ToolCalls...)
	return both
}

// TestAnswer decides two actions one after the other, or together: the agent goes on with the last
// answer, unless all are rejected without a reason.
func TestAnswer(t *testing.T) {
	t.Parallel()
	type to = confirmation.Answer
	no := to{Choice: confirmation.Reject}
	ran := []string{"running", "ObservationEvent", "agent: done", "finished"}
	for name, tt := range map[string]struct {
		answers []map[int]to // by the number of the question among the first ones
		want    []string     // behind the waiting, without the answers themselves
	}{
		"allow one, then the other": {
			[]map[int]to{{0: {Choice: confirmation.Once}}, {1: {Choice: confirmation.Once}}},
			[]string{"running", "ObservationEvent", "ObservationEvent", "agent: done", "finished"},
		},
		"allow the last first": {
			[]map[int]to{{1: {Choice: confirmation.Once}}, {0: {Choice: confirmation.Once}}},
			[]string{"running", "ObservationEvent", "ObservationEvent", "agent: done", "finished"},
		},
		"reject one, then allow": {[]map[int]to{{0: no}, {1: {Choice: confirmation.Once}}}, slices.Concat([]string{"UserRejectObservation"}, ran)},
		"allow, then reject":     {[]map[int]to{{1: {Choice: confirmation.Once}}, {0: no}}, slices.Concat([]string{"UserRejectObservation"}, ran)},
		"together":               {[]map[int]to{{0: no, 1: {Choice: confirmation.Once}}}, slices.Concat([]string{"UserRejectObservation"}, ran)},
		"reject both":            {[]map[int]to{{0: no}, {1: no}}, []string{"UserRejectObservation", "UserRejectObservation", "idle"}},
		"a reason": {
			[]map[int]to{{0: {Choice: confirmation.Reject, Reason: "not that"}}, {1: no}},
			[]string{"UserRejectObservation", "UserRejectObservation", "idle", "running", "agent: done", "finished"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, inTurn(twoCalls("rm x", "ls"), says("done")), nil)
			c := h.begin(t, always)
			send(t, c, "clean up")
			settle(t, c)
			asked, err := c.Confirmation().Questions(t.Context())
			must.Succeed(t, err)
			before := len(h.kinds(t, c.ID()))
			for i, some := range tt.answers {
				given := map[event.ID]to{}
				for n, a := range some {
					given[asked[n].Action] = a
				}
				must.Succeed(t, c.Confirmation().Answer(t.Context(), given))
				if open, err := c.Confirmation().Questions(t.Context()); err != nil || i < len(tt.answers)-1 && len(open) != 1 {
					t.Fatalf("%d questions are open, %v", len(open), err)
				}
				if err := c.Confirmation().Answer(t.Context(), given); !fault.Is(err, fault.Conflict) {
					t.Errorf("the same answer again: %v", err)
				}
			}
			settle(t, c)
			got := slices.DeleteFunc(h.kinds(t, c.ID())[before:], func(kind string) bool { return strings.Contains(kind, "confirmation_answers") })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events after the answers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAlways does not ask again about a kind of actions, also after a restart, until the
// policy is set anew.
func TestAlways(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("rm x.txt"), shell("rm y.txt"), says("one"), shell("rm z.txt"), shell("rm z.txt; ls"), says("two"), shell("rm w.txt"), says("three")), nil)
	c := h.begin(t, always)
	waits := func(text string) {
		t.Helper()
		settle(t, c)
		open, err := c.Confirmation().Questions(t.Context())
		if err != nil || len(open) != 1 || open[0].Text != text {
			t.Fatalf("asks %+v, %v, want %s", open, err, text)
		}
	}
	allow := func(choice confirmation.Choice) {
		t.Helper()
		open, err := c.Confirmation().Questions(t.Context())
		must.Succeed(t, err)
		must.Succeed(t, c.Confirmation().Answer(t.Context(), map[event.ID]confirmation.Answer{open[0].Action: {Choice: choice}}))
	}
	send(t, c, "clean up")
	waits("rm x.txt")
	allow(confirmation.Always)
	settle(t, c)
	if got := status(t, c); got != "finished" {
		t.Fatalf("status %s", got)
	}
	h.restart(t)
	c = h.get(t, c.ID())
	send(t, c, "more")
	waits("rm z.txt; ls") // not rm z.txt
	allow(confirmation.Once)
	settle(t, c)
	must.Succeed(t, c.Confirmation().SetPolicy(t.Context(), json.RawMessage(`{"kind":"AlwaysConfirm"}`)))
	send(t, c, "and more")
	waits("rm w.txt")
	if err := c.Confirmation().Answer(t.Context(), map[event.ID]confirmation.Answer{"nothing": {Choice: confirmation.Once}}); !fault.Is(err, fault.Conflict) {
		t.Errorf("an unknown action: %v", err)
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
	must.Succeed(t, c.Confirmation().Respond(t.Context(), true, ""))
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
		if err := c.Confirmation().SetPolicy(t.Context(), json.RawMessage(raw)); err == nil {
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
