package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/state"
)

// words is a user's message of about n tokens.
func words(n int) event.Event { return user(strings.Repeat("abcdefg", n/2)) }

func repeat(n int, of func() event.Event) []event.Event {
	var evs []event.Event
	for range n {
		evs = append(evs, of())
	}
	return evs
}

// measured is a Turn for a state, with a Gauge.
func measured(s *state.State, window int, m llm.Model) memory.Turn {
	t := turn(s, m, "s")
	t.Tokens, t.Window = &memory.Gauge{}, window
	return t
}

// TestTooManyTokens names events e1, e2 … by their place.
func TestTooManyTokens(t *testing.T) {
	t.Parallel()
	ten := func() []event.Event { // messages of 100 tokens each
		return slices.Concat([]event.Event{system(), user("task")}, repeat(10, func() event.Event { return words(100) }))
	}
	for name, c := range map[string]struct {
		cond   memory.Summarizing
		window int
		view   []event.Event
		needed bool
		want   string // first and last that is forgotten; empty for none
	}{
		"below the limit":                    {memory.Summarizing{MaxTokens: 2000}, 0, ten(), false, ""},
		"no limit":                           {memory.Summarizing{}, 0, ten(), false, ""},
		"down to half of the limit":          {memory.Summarizing{MaxTokens: 1000}, 0, ten(), true, "e3 e8"},
		"the window of the agent's model":    {memory.Summarizing{}, 1000, ten(), true, "e3 e8"},
		"the smaller of both":                {memory.Summarizing{MaxTokens: 5000}, 1000, ten(), true, "e3 e8"},
		"and of both the other":              {memory.Summarizing{MaxTokens: 1000}, 5000, ten(), true, "e3 e8"},
		"more where there are many events":   {memory.Summarizing{MaxTokens: 1000, MaxSize: 10}, 0, ten(), true, "e3 e10"},
		"nothing but the system prompt":      {memory.Summarizing{MaxTokens: 1000, KeepFirst: -1}, 0, ten(), true, "e2 e8"},
		"a single event":                     {memory.Summarizing{MaxTokens: 1000}, 0, []event.Event{system(), user("task"), words(1200), user("end")}, true, "e3 e3"},
		"not a pair's half":                  {memory.Summarizing{MaxTokens: 500}, 0, slices.Concat([]event.Event{system(), user("task"), call("1", "1"), result("1", strings.Repeat("abcdefg", 400))}, rounds(2)), true, "e3 e4"},
		"what is kept, if nothing else does": {memory.Summarizing{MaxTokens: 1000}, 0, []event.Event{system(), words(1200)}, true, "e2 e2"},
		"not what is kept, if that is vain":  {memory.Summarizing{MaxTokens: 1000}, 0, []event.Event{prompt(1200), words(100)}, true, ""},
		"too little progress":                {memory.Summarizing{MaxTokens: 1000, MinimumProgress: 0.7}, 0, ten(), true, "e2 e12"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := talk(t, c.view...)
			turn := measured(conv.state(), c.window, &stub{})
			if got := c.cond.Needed(turn); got != c.needed {
				t.Errorf("needed %v, want %v", got, c.needed)
			}
			ev, err := c.cond.Condense(t.Context(), turn)
			must.Succeed(t, err)
			if got := forgotten(ev); c.needed && got != c.want {
				t.Errorf("forgot %q, want %q", got, c.want)
			}
		})
	}
}

func prompt(tokens int) event.Event {
	return &event.SystemPromptEvent{SystemPrompt: event.Text(strings.Repeat("abcdefg", tokens/2))}
}

func forgotten(ev *event.Condensation) string {
	if ev == nil {
		return ""
	}
	f := ev.ForgottenEventIDs
	return fmt.Sprint(f[0], " ", f[len(f)-1])
}

// TestGaugeLearns corrects its estimate by the provider's count, for the same
// model.
func TestGaugeLearns(t *testing.T) {
	t.Parallel()
	conv := talk(t, system(), words(1000))
	g := memory.Gauge{Beside: 100}
	view := conv.state().View
	plain := g.Prompt(view)
	if plain < 1100 || plain > 1300 {
		t.Fatalf("estimated at %d tokens", plain)
	}
	for _, c := range []struct {
		model         string
		counted, want int
	}{
		{"a", plain * 3 / 4, plain * 3 / 4}, {"a", 0, plain * 3 / 4}, {"a", 1, plain / 2}, {"a", plain * 9, plain * 2}, {"b", 0, plain},
	} {
		g.Learn(c.model, view, c.counted)
		if got := g.Prompt(view); got < c.want-1 || got > c.want+1 {
			t.Errorf("%s counted %d: %d tokens, want %d", c.model, c.counted, got, c.want)
		}
	}
	conv.add(words(500))
	if got := g.Prompt(conv.state().View); got < plain+490 || got > plain+510 {
		t.Errorf("500 tokens more make %d of %d", got, plain)
	}
	if got := g.Prompt(talk(t, system()).state().View); got > 200 {
		t.Errorf("another view has %d tokens", got)
	}
}

// TestEveryEventCounts shows a long text in each kind of event.
func TestEveryEventCounts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefg", 500)
	dynamic := event.Text(long)
	action := call("1", "1")
	action.ToolCall.Arguments = long
	thought := call("1", "1")
	thought.Thought = event.Texts(long)
	extended := user("x").(*event.MessageEvent)
	extended.ExtendedContent = event.Texts(long)
	for i, ev := range []event.Event{
		prompt(1000), &event.SystemPromptEvent{DynamicContext: &dynamic}, user(long), extended, action, thought, result("1", long),
		&event.AgentErrorEvent{Error: long}, &event.UserRejectObservation{RejectionReason: long}, &event.CondensationSummaryEvent{Summary: long},
	} {
		g := memory.Gauge{}
		if n := g.Prompt([]event.Event{ev}); n < 900 || n > 1200 {
			t.Errorf("event %d, a %s, has %d tokens", i, ev.Kind(), n)
		}
	}
}

// TestSummaryThatCanWait: a failed summary is an error only if the view no longer
// fits.
func TestSummaryThatCanWait(t *testing.T) {
	t.Parallel()
	broken := &stub{answer: func(int, llm.Request) (string, error) { return "", errors.New("broken") }}
	conv := talk(t, slices.Concat([]event.Event{system(), user("task")}, rounds(10))...)
	many := memory.Summarizing{MaxSize: 20}
	if ev, err := many.Condense(t.Context(), measured(conv.state(), 0, broken)); ev != nil || err != nil {
		t.Errorf("too many events: %v, %v", ev, err)
	}
	if _, err := many.Condense(t.Context(), measured(conv.state(), 60, broken)); err == nil {
		t.Error("too many tokens: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := many.Condense(ctx, measured(conv.state(), 0, broken)); err == nil {
		t.Error("interrupted: no error")
	}
}

func TestPipeline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pipe  memory.Pipeline
		asked bool
		want  string // the service that summarised
	}{
		"nobody":        {memory.Pipeline{memory.Summarizing{}, memory.Summarizing{Service: "b"}}, false, ""},
		"the second":    {memory.Pipeline{memory.Summarizing{}, memory.Summarizing{MaxSize: 20, Service: "b"}}, false, "b"},
		"the first":     {memory.Pipeline{memory.Summarizing{MaxSize: 20}, memory.Summarizing{MaxSize: 20, Service: "b"}}, false, memory.Service},
		"whom one asks": {memory.Pipeline{memory.Summarizing{}, memory.Summarizing{MaxSize: 20, Service: "b"}}, true, memory.Service},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := talk(t, slices.Concat([]event.Event{system(), user("task")}, rounds(10))...)
			if c.asked {
				conv.ask()
			}
			served := ""
			turn := measured(conv.state(), 0, &stub{})
			turn.LLM = func(service string) llm.Model { served = service; return &stub{} }
			if got, want := c.pipe.Needed(turn), c.want != ""; got != want {
				t.Errorf("needed %v, want %v", got, want)
			}
			if _, err := c.pipe.Condense(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			if served != c.want {
				t.Errorf("%q summarised, want %q", served, c.want)
			}
		})
	}
}

// TestShorterByScale shortens events by the given part for each retry.
func TestShorterByScale(t *testing.T) {
	t.Parallel()
	conv := talk(t, system(), user("task"), words(4000), words(4000), user("c"), user("d"))
	conv.ask()
	m := &stub{answer: func(int, llm.Request) (string, error) { return "", tooLong() }}
	c := memory.Summarizing{Retries: 2, Scaling: 0.9, MaxEventChars: 1000}
	if _, err := c.Condense(t.Context(), turn(conv.state(), m, "s")); !fault.Is(err, fault.Context) {
		t.Errorf("error %v, want one of context", err)
	}
	var sizes []int
	for _, r := range m.calls {
		sizes = append(sizes, len(event.JoinText(r.Messages[1].Content)))
	}
	if len(sizes) != 3 || sizes[2] < sizes[0]*3/4 || sizes[2] >= sizes[1] || sizes[1] >= sizes[0] {
		t.Errorf("requests of %v bytes", sizes)
	}
}
