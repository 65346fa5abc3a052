package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// anyKind draws a condenser of a kind, as an agent has it.
func anyKind(t *rapid.T, kind string, depth int) *spec.Condenser {
	c := &spec.Condenser{
		Kind: kind, MaxSize: rapid.IntRange(6, 60).Draw(t, "max size"), MaxEvents: rapid.IntRange(4, 60).Draw(t, "max events"),
		KeepFirst: rapid.IntRange(0, 2).Draw(t, "keep first"), AttentionWindow: rapid.IntRange(1, 20).Draw(t, "window"),
	}
	if kind == spec.Pipeline && depth > 0 {
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			c.Condensers = append(c.Condensers, anyKind(t, spec.CondenserKinds[rapid.IntRange(0, len(spec.CondenserKinds)-1).Draw(t, "kind")].Kind, depth-1))
		}
	}
	return c
}

// writer answers requests for summaries, states and choices.
func writer(t *rapid.T) *stub {
	return &stub{answer: func(_ int, r llm.Request) (string, error) {
		switch {
		case strings.Contains(string(r.Schema), `"ids"`):
			ids := rapid.SliceOfN(rapid.IntRange(-1, 40), 0, 20).Draw(t, "ids")
			raw, err := json.Marshal(map[string]any{"ids": ids})
			return string(raw), err
		case r.Schema != nil:
			return `{"user_context":"u","pending_tasks":"p"}`, nil
		}
		return "notes", nil
	}}
}

// TestConformance holds every kind of condenser to the rules of [memory.Condenser].
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, k := range spec.CondenserKinds {
		t.Run(k.Kind, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				c, err := memory.New(anyKind(t, k.Kind, 2))
				must.Succeed(t, err)
				conv := history(t)
				shows(t, c, conv)
				condenses(t, c, conv)
			})
		})
	}
}

// shows checks the shown forms of a view that grows event by event.
func shows(t *rapid.T, c memory.Condenser, conv *conversation) {
	view := conv.state().View
	stored, err := json.Marshal(view)
	must.Succeed(t, err)
	var before []event.Event
	for n := range len(view) + 1 {
		shown := c.Show(view[:n])
		if !slices.Equal(ids(shown), ids(view[:n])) {
			t.Fatalf("shows %v of %v", ids(shown), ids(view[:n]))
		}
		for i, ev := range shown {
			if o, is := ev.(*event.ObservationEvent); is && o.ToolCallID != view[i].(*event.ObservationEvent).ToolCallID {
				t.Fatalf("the result %s is shown for another call", o.ID)
			}
		}
		if again := c.Show(view[:n]); !slices.Equal(shown, again) {
			t.Fatal("the same view is shown differently")
		}
		if len(before) > 0 && n > len(before) && &shown[0] == &before[0] && !slices.Equal(shown[:len(before)], before) {
			t.Fatal("a view that was shown has changed")
		}
		before = shown
	}
	if after, err := json.Marshal(view); err != nil || string(after) != string(stored) {
		t.Fatalf("stored events have changed: %v", err)
	}
}

// condenses checks that requests end, and that nothing is torn apart.
func condenses(t *rapid.T, c memory.Condenser, conv *conversation) {
	for left := len(conv.state().View); ; left-- {
		if left < 0 {
			t.Fatal("more condensations than events")
		}
		conv.ask()
		before := conv.state()
		shown := *before
		shown.View = c.Show(before.View)
		ev, err := c.Condense(context.Background(), turn(&shown, writer(t), "s"))
		must.Succeed(t, err)
		if ev == nil {
			return
		}
		if !c.Forgets() {
			t.Fatal("a condenser that forgets nothing has condensed")
		}
		conv.add(ev)
		after := conv.state()
		if plain(after.View) >= plain(before.View) {
			t.Fatalf("no progress: %v became %v", ids(before.View), ids(after.View))
		}
		if _, prompt := after.View[0].(*event.SystemPromptEvent); !prompt {
			t.Fatal("the system prompt is gone")
		}
		together(t, before.View, after.View)
		thinkingStays(t, before.View, after.View)
	}
}

// thinkingStays checks that no response depends on thinking that is gone.
func thinkingStays(t *rapid.T, before, after []event.Event) {
	for i, ev := range after {
		at := slices.Index(before, ev)
		if i == 0 || at <= 0 || after[i-1] == before[at-1] {
			continue
		}
		thinkingIntact(t, before, ev)
	}
}

// TestUnknownKind names the kinds.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	if _, err := memory.New(&spec.Condenser{Kind: "Moon"}); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
	_, err := schema.Check(spec.Condensers, schema.Of("kind", "MoonCondenser"), schema.Reading{})
	if err == nil || !strings.Contains(err.Error(), "'MoonCondenser'") || !strings.Contains(err.Error(), spec.RecentEvents) {
		t.Error(err)
	}
	if c, err := memory.New(nil); c != nil || err != nil {
		t.Error(c, err)
	}
}

// TestMaskBorder counts how often the start of a prompt changes while a conversation grows by
// calls with long results.
func TestMaskBorder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mask          *memory.Masking
		browser       bool
		least, most   int // results shown in full
		changesAtMost int
	}{
		{memory.MaskObservations(20), false, 10, 15, 9},
		{memory.MaskObservations(1), false, 0, 1, 100},
		{memory.MaskBrowser(1), true, 1, 1, 50},
		{memory.MaskBrowser(8), true, 8, 11, 11},
		{memory.MaskBrowser(1), false, 50, 50, 0}, // other tools' results stay
	} {
		conv := talk(t, system(), user("task"))
		var before []event.Event
		changes, full := 0, 0
		for i := range 50 {
			id := fmt.Sprint("c", i)
			r := result(id, strings.Repeat("long ", 100)).(*event.ObservationEvent)
			if c.browser {
				r.ToolName, r.Observation = "browser_get_state", &event.BrowserObservation{ObservationBase: *r.Observation.Result()}
			}
			for _, ev := range []event.Event{call(id, id), r} {
				conv.add(ev)
				shown := c.mask.Show(conv.state().View)
				if !slices.Equal(shown[:len(before)], before) {
					changes++
				}
				before = shown
			}
			full = 0
			for _, ev := range before {
				if o, ok := ev.(*event.ObservationEvent); ok && strings.HasPrefix(event.JoinText(o.Observation.Result().Content), "long") {
					full++
				}
			}
			if i == 49 && full < c.least || full > c.most {
				t.Errorf("%d results are shown after %d calls", full, i+1)
			}
		}
		if changes > c.changesAtMost {
			t.Errorf("the start of the prompt changed %d times", changes)
		}
	}
}
