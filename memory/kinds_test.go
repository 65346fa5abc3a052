package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/spec"
)

// TestForgetting names events e1, e2 … by their place: a prompt, a task and messages.
func TestForgetting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  spec.Condenser
		n     int // messages
		asked bool
		want  string // first and last event that is forgotten
	}{
		"recent, few events":      {spec.Condenser{Kind: spec.RecentEvents, MaxEvents: 12, KeepFirst: 2}, 10, false, ""},
		"recent, one too many":    {spec.Condenser{Kind: spec.RecentEvents, MaxEvents: 12, KeepFirst: 2}, 11, false, "e4 e6"},
		"recent, on request":      {spec.Condenser{Kind: spec.RecentEvents, MaxEvents: 100, KeepFirst: 2}, 8, true, "e4 e5"},
		"amortized":               {spec.Condenser{Kind: spec.Amortized, MaxSize: 12, KeepFirst: 2}, 11, false, "e4 e9"},
		"the window, unasked":     {spec.Condenser{Kind: spec.Window}, 300, false, ""},
		"the window, on request":  {spec.Condenser{Kind: spec.Window}, 8, true, "e4 e5"},
		"nothing behind the task": {spec.Condenser{Kind: spec.Window}, 0, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := talk(t, slices.Concat([]event.Event{system(), user("task")}, repeat(c.n, func() event.Event { return user("m") }))...)
			if c.asked {
				conv.ask()
			}
			cond, err := memory.New(&c.kind)
			must.Succeed(t, err)
			tn := turn(conv.state(), nil, "s")
			if got := cond.Needed(tn); got != (c.want != "" && !c.asked) {
				t.Errorf("needed %v", got)
			}
			if !c.asked && c.want == "" {
				return
			}
			ev, err := cond.Condense(t.Context(), tn)
			must.Succeed(t, err)
			if got := forgotten(ev); got != c.want || ev != nil && ev.Summary != nil {
				t.Errorf("forgot %q, want %q", got, c.want)
			}
		})
	}
}

// TestAttention keeps the choice of the model, whole pairs, and the newest.
func TestAttention(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ids  string
		want []event.ID // that stay
	}{
		"as the model chooses":        {"[2,4]", []event.ID{"e1", "e2", "e5", "e6", "e9", "e10", "e13", "e14"}},
		"more than there is room for": {"[1,2,3,4]", []event.ID{"e1", "e2", "e3", "e4", "e5", "e6", "e13", "e14"}},
		"nothing, then the newest":    {"[]", []event.ID{"e1", "e2", "e9", "e10", "e11", "e12", "e13", "e14"}},
		"numbers that there are not":  {"[0,-3,99,2,2]", []event.ID{"e1", "e2", "e5", "e6", "e11", "e12", "e13", "e14"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := talk(t, slices.Concat([]event.Event{system(), user("task")}, rounds(6))...)
			m := &stub{answer: func(int, llm.Request) (string, error) { return `{"ids":` + c.ids + `}`, nil }}
			cond := memory.Attention{MaxSize: 16, KeepFirst: 2}
			conv.ask()
			ev, err := cond.Condense(t.Context(), turn(conv.state(), m, "s"))
			must.Succeed(t, err)
			if ev == nil || ev.LLMResponseID != "resp" {
				t.Fatalf("%+v", ev)
			}
			conv.add(ev)
			if diff := cmp.Diff(c.want, ids(conv.state().View)); diff != "" {
				t.Errorf("view (-want +got):\n%s", diff)
			}
			if text := event.JoinText(m.calls[0].Messages[1].Content); !strings.Contains(text, "<ITEM number=\"5\">") || strings.Contains(text, "number=\"6\"") {
				t.Errorf("the model chose among\n%s", text)
			}
		})
	}
}

// TestStructuredSummary makes the summary of the fields that the model filled.
func TestStructuredSummary(t *testing.T) {
	t.Parallel()
	conv := talk(t, slices.Concat([]event.Event{system(), user("task")}, rounds(6))...)
	conv.ask()
	m := &stub{answer: func(n int, _ llm.Request) (string, error) {
		if n == 1 {
			return "I think all is well", nil // and is asked again
		}
		return `{"user_context":"wants a shop","pending_tasks":"checkout\nfails","tests":" "}`, nil
	}}
	c, err := memory.New(&spec.Condenser{Kind: spec.StructuredSummary, MaxSize: 16, KeepFirst: 2})
	must.Succeed(t, err)
	ev, err := c.Condense(t.Context(), turn(conv.state(), m, "s"))
	must.Succeed(t, err)
	if want := "## User's context\nwants a shop\n\n## Pending tasks\ncheckout\nfails"; ev == nil || *ev.Summary != want || *ev.SummaryOffset != 2 || len(m.calls) != 2 {
		t.Errorf("%+v", ev)
	}
	m.answer = func(int, llm.Request) (string, error) { return `{"user_context":"","pending_tasks":" "}`, nil }
	if ev, err := c.Condense(t.Context(), turn(conv.state(), m, "s")); ev != nil || err == nil {
		t.Errorf("an empty state became %+v", ev)
	}
}

// TestEachAsksItsModel counts the models of a pipeline in the order in which sessions open them.
func TestEachAsksItsModel(t *testing.T) {
	t.Parallel()
	pipe := &spec.Condenser{Kind: spec.Pipeline, Condensers: []*spec.Condenser{
		{Kind: spec.MaskBrowser, AttentionWindow: 1}, {Kind: spec.Attention, MaxSize: 1000, KeepFirst: 1},
		{Kind: spec.Pipeline, Condensers: []*spec.Condenser{{Kind: spec.StructuredSummary, MaxSize: 10, KeepFirst: 1}}},
	}}
	if n := len(pipe.Asking()); n != 2 {
		t.Fatalf("%d ask", n)
	}
	c, err := memory.New(pipe)
	must.Succeed(t, err)
	conv := talk(t, slices.Concat([]event.Event{system(), user("task")}, rounds(6))...)
	tn := turn(conv.state(), nil, "s")
	var asked []string
	tn.LLM = func(service string) llm.Model {
		asked = append(asked, service)
		return &stub{answer: func(int, llm.Request) (string, error) { return `{"user_context":"u","pending_tasks":"p"}`, nil }}
	}
	if _, err := c.Condense(t.Context(), tn); err != nil || fmt.Sprint(asked) != "["+memory.ServiceOf(1)+"]" {
		t.Errorf("%v asked, %v", asked, err)
	}
}
