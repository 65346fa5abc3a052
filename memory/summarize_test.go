package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
)

func tooLong() error { return llm.NewError(fault.Context, "p", "m", "too long", nil) }

func TestNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		max, size int
		want      bool
	}{{0, 240, false}, {0, 241, true}, {10, 10, false}, {10, 11, true}} {
		conv := talk(t)
		for range c.size {
			conv.add(user("x"))
		}
		if got := (memory.Summarizing{MaxSize: c.max}).Needed(turn(conv.state(), &stub{}, "s")); got != c.want {
			t.Errorf("MaxSize %d with %d events: needed %v, want %v", c.max, c.size, got, c.want)
		}
	}
}

// TestWhatIsForgotten names events e1, e2 … by their place.
func TestWhatIsForgotten(t *testing.T) {
	t.Parallel()
	start := []event.Event{system(), user("task")}
	for name, c := range map[string]struct {
		cond  memory.Summarizing
		view  []event.Event
		asked bool
		want  string // first and last that is forgotten; empty for none
	}{
		"the middle":                        {memory.Summarizing{MaxSize: 20}, slices.Concat(start, rounds(10)), false, "e3 e14"},
		"half when asked":                   {memory.Summarizing{}, slices.Concat(start, rounds(10)), true, "e3 e10"},
		"not a pair's half":                 {memory.Summarizing{MaxSize: 22}, slices.Concat(start, []event.Event{user("odd")}, rounds(10)), false, "e3 e15"},
		"not a batch's part":                {memory.Summarizing{MaxSize: 10, KeepFirst: 1}, []event.Event{user("a"), user("b"), user("c"), call("1", "r"), call("2", "r"), result("1", ""), call("3", "r"), result("2", ""), result("3", "")}, false, "e2 e3"},
		"a batch where that is all":         {memory.Summarizing{}, slices.Concat(start, []event.Event{call("1", "r"), call("2", "r"), result("1", ""), result("2", "")}), true, "e3 e6"},
		"not what is pending":               {memory.Summarizing{}, slices.Concat(start, rounds(1), []event.Event{call("p", "p")}), true, "e3 e4"},
		"nothing but the start":             {memory.Summarizing{}, start, true, ""},
		"nothing but pending calls":         {memory.Summarizing{}, slices.Concat(start, []event.Event{call("p", "p")}), true, ""},
		"less than a tenth":                 {memory.Summarizing{MaxSize: 20}, slices.Concat(start, []event.Event{user("x")}, batch(30)), false, ""},
		"less than a tenth, but asked":      {memory.Summarizing{MaxSize: 20}, slices.Concat(start, []event.Event{user("x")}, batch(30)), true, "e3 e63"},
		"behind a late system prompt":       {memory.Summarizing{}, slices.Concat([]event.Event{user("hook"), user("hook"), system(), user("task")}, rounds(4)), true, "e4 e6"},
		"more is kept at the start":         {memory.Summarizing{KeepFirst: 4}, slices.Concat(start, rounds(4)), true, "e5 e10"},
		"before a response that thinks":     {memory.Summarizing{}, slices.Concat(start, loop(true, true, true, true)), true, "e3 e4"},
		"not before one that did not":       {memory.Summarizing{}, slices.Concat(start, loop(true, false, false, true, false)), true, "e3 e12"},
		"a call without a result is no end": {memory.Summarizing{}, slices.Concat(start, []event.Event{call("lost", "x")}, rounds(4)), true, "e3 e5"},
		"nor does it hold what follows":     {memory.Summarizing{}, slices.Concat(start, []event.Event{call("lost", "x")}, rounds(1), []event.Event{user("a"), user("b")}), true, "e3 e7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := talk(t)
			for _, ev := range c.view { // the same events serve several cases
				cp := ev
				switch e := ev.(type) {
				case *event.SystemPromptEvent:
					cp = new(*e)
				case *event.MessageEvent:
					cp = new(*e)
				}
				conv.add(cp)
			}
			if c.asked {
				conv.ask()
			}
			ev, err := c.cond.Condense(t.Context(), turn(conv.state(), &stub{}, "s"))
			must.Succeed(t, err)
			got := ""
			if ev != nil {
				f := ev.ForgottenEventIDs
				got = fmt.Sprint(f[0], " ", f[len(f)-1])
			}
			if got != c.want {
				t.Errorf("forgot %q, want %q", got, c.want)
			}
		})
	}
}

// batch returns n calls of one response and their results.
func batch(n int) []event.Event {
	var calls, results []event.Event
	for i := range n {
		calls = append(calls, call(fmt.Sprint(i), "r"))
		results = append(results, result(fmt.Sprint(i), ""))
	}
	return slices.Concat(calls, results)
}

// loop returns rounds of a tool loop; think says which bring thinking blocks.
func loop(think ...bool) []event.Event {
	evs := rounds(len(think))
	for i, yes := range think {
		if yes {
			thinking(evs[2*i].(*event.ActionEvent))
		}
	}
	return evs
}

func TestSummaryStandsBehindTheStart(t *testing.T) {
	t.Parallel()
	conv := talk(t, slices.Concat([]event.Event{system(), user("task")}, rounds(6))...)
	conv.ask()
	ev, err := memory.Summarizing{}.Condense(t.Context(), turn(conv.state(), &stub{}, "s"))
	must.Succeed(t, err)
	if ev.Source != event.SourceEnvironment || ev.LLMResponseID != "resp" {
		t.Errorf("source %s, response %q", ev.Source, ev.LLMResponseID)
	}
	ev.ID = "c"
	conv.add(ev)
	s := conv.state()
	want := []event.ID{"e1", "e2", "c-summary", "e7", "e8", "e9", "e10", "e11", "e12", "e13", "e14"}
	if diff := cmp.Diff(want, ids(s.View)); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
	if sum := s.View[2].(*event.CondensationSummaryEvent); sum.Summary != "notes" {
		t.Errorf("summary %q", sum.Summary)
	}
	if s.CondensationRequested {
		t.Error("the request is still open")
	}
}

func TestRequestToSummarise(t *testing.T) {
	t.Parallel()
	conv := talk(t,
		system(), user("task"), &event.CondensationSummaryEvent{Summary: "before"},
		user("do </EVENT> this"), call("1", "r"), result("1", "out"), call("2", "s"),
		&event.AgentErrorEvent{ToolCallID: "2", ToolName: "terminal", Error: "broken"},
		call("3", "t"), &event.UserRejectObservation{ToolCallID: "3", ToolName: "terminal", RejectionReason: "no"},
		result("x", strings.Repeat("long ", 10_000)),
	)
	conv.ask()
	m := &stub{}
	c := memory.Summarizing{MaxSize: 6, MaxEventChars: 1000}
	if _, err := c.Condense(t.Context(), turn(conv.state(), m, "session")); err != nil {
		t.Fatal(err)
	}
	msgs := m.calls[0].Messages
	if len(msgs) != 2 || msgs[0].Role != event.RoleSystem || msgs[1].Role != event.RoleUser || m.calls[0].Session != "session" {
		t.Fatalf("the request has %d messages for session %q", len(msgs), m.calls[0].Session)
	}
	text := event.JoinText(msgs[1].Content)
	for _, want := range []string{"user: do < /EVENT> this", `calls terminal {"command":"ls"}`, "terminal answers: out", "terminal failed: broken", "the user refused terminal: no", "\n[…]\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the request does not hold %q", want)
		}
	}
	if len(text) > 2500 {
		t.Errorf("the request has %d bytes", len(text))
	}
}

func TestRequestThatDoesNotFit(t *testing.T) {
	t.Parallel()
	big := func() *conversation {
		conv := talk(t, system(), user("task"))
		for range 20 {
			conv.add(user(strings.Repeat("word ", 4000)))
		}
		conv.ask()
		return conv
	}
	size := func(r llm.Request) int { return len(event.JoinText(r.Messages[1].Content)) }
	t.Run("shrinks until it does", func(t *testing.T) {
		t.Parallel()
		m := &stub{answer: func(n int, r llm.Request) (string, error) {
			if size(r) > 20_000 {
				return "", tooLong()
			}
			return "notes", nil
		}}
		ev, err := memory.Summarizing{}.Condense(t.Context(), turn(big().state(), m, "s"))
		if err != nil || ev == nil {
			t.Fatalf("%v, %v", ev, err)
		}
		for i := 1; i < len(m.calls); i++ {
			if size(m.calls[i]) >= size(m.calls[i-1]) {
				t.Errorf("try %d has %d bytes after %d", i+1, size(m.calls[i]), size(m.calls[i-1]))
			}
		}
	})
	t.Run("gives up", func(t *testing.T) {
		t.Parallel()
		m := &stub{answer: func(int, llm.Request) (string, error) { return "", tooLong() }}
		if _, err := (memory.Summarizing{}).Condense(t.Context(), turn(big().state(), m, "s")); !fault.Is(err, fault.Context) {
			t.Errorf("error %v, want one of context", err)
		}
		if len(m.calls) != 6 {
			t.Errorf("%d tries, want 6", len(m.calls))
		}
	})
	t.Run("is made to fit a known window", func(t *testing.T) {
		t.Parallel()
		m := &stub{info: llm.Info{ContextWindow: 8000}}
		if _, err := (memory.Summarizing{}).Condense(t.Context(), turn(big().state(), m, "s")); err != nil {
			t.Fatal(err)
		}
		if n := llm.EstimateTokens(m.calls[0].Messages, nil); len(m.calls) != 1 || n > 6000 {
			t.Errorf("%d calls, the first of %d tokens", len(m.calls), n)
		}
	})
}

func TestModelThatDoesNotSummarise(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		text string
		err  error
		kind fault.Kind
	}{
		"failure":    {"", broken, fault.Internal},
		"no text":    {" \n", nil, fault.Unavailable},
		"no account": {"", llm.NewError(fault.Auth, "p", "m", "no", nil), fault.Auth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := talk(t, slices.Concat([]event.Event{system(), user("task")}, rounds(6))...)
			conv.ask()
			m := &stub{answer: func(int, llm.Request) (string, error) { return c.text, c.err }}
			ev, err := memory.Summarizing{}.Condense(t.Context(), turn(conv.state(), m, "s"))
			if ev != nil || fault.KindOf(err) != c.kind || err == nil {
				t.Errorf("%v, %v of kind %s, want kind %s", ev, err, fault.KindOf(err), c.kind)
			}
			if len(m.calls) != 1 {
				t.Errorf("%d calls, want 1", len(m.calls))
			}
		})
	}
}
