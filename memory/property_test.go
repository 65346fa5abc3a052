package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/state"
)

// history draws a random conversation as the controller writes it: messages, and
// responses with calls whose results follow in any order; the last response
// may still wait for some.
func history(t *rapid.T) *conversation {
	conv := talk(t, system())
	n := 0
	items := rapid.IntRange(0, 25).Draw(t, "items")
	for i := range items {
		if rapid.IntRange(0, 3).Draw(t, "message") == 0 {
			conv.add(user("m"))
			continue
		}
		response := fmt.Sprint("r", i)
		if rapid.IntRange(0, 5).Draw(t, "without response id") == 0 {
			response = ""
		}
		var calls []string
		for k := range rapid.IntRange(1, 3).Draw(t, "calls") {
			n++
			calls = append(calls, fmt.Sprint("c", n))
			a := call(calls[k], response)
			if k == 0 && rapid.Bool().Draw(t, "thinking") {
				thinking(a)
			}
			conv.add(a)
			if rapid.IntRange(0, 9).Draw(t, "message in between") == 0 {
				conv.add(user("between"))
			}
		}
		if i == items-1 {
			calls = calls[:rapid.IntRange(0, len(calls)).Draw(t, "answered")]
		}
		for _, id := range rapid.Permutation(calls).Draw(t, "order") {
			conv.add(result(id, "out"))
		}
	}
	return conv
}

func drawCondenser(t *rapid.T) memory.Summarizing {
	return memory.Summarizing{
		MaxSize:   rapid.IntRange(1, 60).Draw(t, "max size"),
		KeepFirst: rapid.IntRange(1, 4).Draw(t, "keep first"),
	}
}

// TestRepeatedCondensationEnds requests condensations repeatedly, as happens
// with a prompt that never fits.
func TestRepeatedCondensationEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		conv, c := history(t), drawCondenser(t)
		for left := len(conv.state().View); ; left-- {
			if left < 0 {
				t.Fatal("more condensations than events")
			}
			conv.ask()
			before := conv.state()
			ev, err := c.Condense(context.Background(), turn(before, &stub{}, "s"))
			must.Succeed(t, err)
			if ev == nil {
				return
			}
			conv.add(ev)
			after := conv.state()
			if plain(after.View) >= plain(before.View) || len(after.View) > len(before.View) {
				t.Fatalf("no progress: %v became %v", ids(before.View), ids(after.View))
			}
			check(t, c, before, after)
		}
	})
}

// TestUnaskedCondensationGainsATenth lets a conversation grow past the limit.
func TestUnaskedCondensationGainsATenth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		conv, c := history(t), drawCondenser(t)
		before := conv.state()
		ev, err := c.Condense(context.Background(), turn(before, &stub{}, "s"))
		must.Succeed(t, err)
		if ev == nil {
			return
		}
		if n := len(ev.ForgottenEventIDs); n*10 < len(before.View) || n < 2 {
			t.Fatalf("only %d of %d events are forgotten", n, len(before.View))
		}
		conv.add(ev)
		check(t, c, before, conv.state())
	})
}

func plain(view []event.Event) (n int) {
	for _, ev := range view {
		if _, is := ev.(*event.CondensationSummaryEvent); !is {
			n++
		}
	}
	return n
}

// check compares the views before and after a condensation.
func check(t *rapid.T, c memory.Summarizing, before, after *state.State) {
	kept := map[event.Event]bool{}
	for _, ev := range after.View {
		kept[ev] = true
	}
	for i, ev := range before.View {
		if _, prompt := ev.(*event.SystemPromptEvent); (prompt || i < c.KeepFirst) && !kept[ev] {
			t.Fatalf("event %d at the start is gone", i)
		}
	}
	together(t, before.View, after.View)
	at := slices.IndexFunc(after.View, func(ev event.Event) bool {
		_, is := ev.(*event.CondensationSummaryEvent)
		return is && !slices.Contains(before.View, ev)
	})
	if at < 0 {
		t.Fatal("there is no summary")
	}
	if at+1 < len(after.View) {
		thinkingIntact(t, before.View, after.View[at+1])
	}
}

// together checks that calls stay with their results, and with the calls of their response.
func together(t *rapid.T, before, after []event.Event) {
	kept := map[event.Event]bool{}
	for _, ev := range after {
		kept[ev] = true
	}
	whole := map[string]bool{} // of a call, and of a response
	same := func(key string, ev event.Event) {
		if was, known := whole[key]; known && was != kept[ev] {
			t.Fatalf("%s is torn apart: %v became %v", key, ids(before), ids(after))
		}
		whole[key] = kept[ev]
	}
	for _, ev := range before {
		switch e := ev.(type) {
		case *event.ActionEvent:
			same("call "+e.ToolCallID, ev)
			if e.LLMResponseID != "" {
				same("response "+e.LLMResponseID, ev)
			}
		case *event.ObservationEvent:
			same("call "+e.ToolCallID, ev)
		}
	}
}

// thinkingIntact checks that the response that stands behind a summary does
// not depend on thinking that is gone.
func thinkingIntact(t *rapid.T, view []event.Event, first event.Event) {
	a, ok := first.(*event.ActionEvent)
	if !ok || len(a.ThinkingBlocks) > 0 {
		return
	}
	for _, ev := range slices.Backward(view[:slices.Index(view, first)]) {
		switch e := ev.(type) {
		case *event.ActionEvent:
			if len(e.ThinkingBlocks) > 0 {
				t.Fatalf("%s has lost the thinking of %s", a.ID, e.ID)
			}
		case *event.MessageEvent, *event.CondensationSummaryEvent:
			return
		}
	}
}
