package llm_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// TestNormalizeGrown compares NormalizeGrown with Normalize for a history that
// grows like an agent's, with its end changed in place.
func TestNormalizeGrown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var g llm.Growth
		msgs := make([]event.Message, 0, 200)
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			fixed := len(msgs)
			for range rapid.IntRange(0, 3).Draw(t, "new") {
				msgs = append(msgs, turn(rapid.SampledFrom([]string{"user", "call", "twice", "text", "open", "bad"}).Draw(t, "turn"), len(msgs))...)
			}
			if len(msgs) == 0 {
				continue
			}
			fixed = min(fixed+rapid.IntRange(0, 2).Draw(t, "more"), len(msgs))
			ctx := g.Context(context.Background(), msgs, fixed)
			if diff := cmp.Diff(llm.Normalize(msgs), llm.NormalizeGrown(ctx, msgs), cmp.AllowUnexported(event.Content{})); diff != "" {
				t.Fatalf("grown to %d (-want +got):\n%s", len(msgs), diff)
			}
			msgs = msgs[:rapid.IntRange(fixed, len(msgs)).Draw(t, "kept")]
		}
	})
}

func turn(kind string, n int) []event.Message {
	id := "c" + strconv.Itoa(n)
	switch kind {
	case "user":
		return []event.Message{{Role: event.RoleUser, Content: event.Texts("u")}}
	case "text":
		return []event.Message{{Role: event.RoleAssistant, Content: event.Texts("a")}}
	case "twice":
		id = "same"
	}
	call := event.Message{Role: event.RoleAssistant, ToolCalls: []event.ToolCall{{ID: id, Name: "x"}}}
	if kind == "open" {
		return []event.Message{call}
	}
	result := event.Message{Role: event.RoleTool, ToolCallID: id, Name: "x", Content: event.Texts("r")}
	if kind == "bad" {
		result.Name = ""
	}
	return []event.Message{call, result}
}

func TestFixed(t *testing.T) {
	t.Parallel()
	var g llm.Growth
	msgs := make([]event.Message, 5, 8)
	ctx := g.Context(t.Context(), msgs, 4)
	first, n := llm.Fixed(ctx, msgs)
	if n != 4 {
		t.Errorf("fixed %d", n)
	}
	if id, n := llm.Fixed(ctx, msgs[1:]); n != 3 || id == first {
		t.Errorf("without the first: %d of %d", n, id)
	}
	if _, n := llm.Fixed(ctx, msgs[:2]); n != 2 {
		t.Errorf("of a part: %d", n)
	}
	if _, n := llm.Fixed(ctx, append([]event.Message(nil), msgs...)); n != 0 {
		t.Errorf("of a copy: %d", n)
	}
	grown := append(msgs, event.Message{})
	if id, n := llm.Fixed(g.Context(t.Context(), grown, 5), grown); id != first || n != 5 {
		t.Errorf("grown: %d of %d, was %d", n, id, first)
	}
	if id, _ := llm.Fixed(g.Context(t.Context(), msgs, 2), msgs); id == first {
		t.Error("less is fixed than before, in the same array")
	}
	if _, n := llm.Fixed(t.Context(), msgs); n != 0 {
		t.Errorf("without a declaration: %d", n)
	}
}
