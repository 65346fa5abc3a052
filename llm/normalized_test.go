package llm

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
)

// loop is a sound history of n messages after its first two.
func loop(n int) []event.Message {
	msgs := []event.Message{
		{Role: event.RoleSystem, Content: event.Texts("You are a test.")},
		{Role: event.RoleUser, Content: event.Texts("Go.")},
	}
	for i := range n / 2 {
		id := fmt.Sprintf("call_%d", i)
		msgs = append(msgs,
			event.Message{Role: event.RoleAssistant, Content: event.Texts("Next."), ToolCalls: []event.ToolCall{{ID: id, Name: "terminal", Arguments: "{}"}}},
			event.Message{Role: event.RoleTool, Name: "terminal", ToolCallID: id, Content: event.Texts("done")})
	}
	return msgs
}

// TestIsNormalized compares isNormalized with Normalize, for valid histories
// with one change.
func TestIsNormalized(t *testing.T) {
	t.Parallel()
	said := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		msgs := loop(10)
		at := rapid.IntRange(0, len(msgs)-1).Draw(t, "at")
		word := rapid.SampledFrom([]string{"", "call", "call_1", "x.y", "terminal", "new"}).Draw(t, "word")
		switch m := &msgs[at]; rapid.SampledFrom([]string{"nothing", "role", "answers", "name", "text", "id", "tool", "drop", "twice"}).Draw(t, "what") {
		case "role":
			m.Role = rapid.SampledFrom([]event.Role{event.RoleSystem, event.RoleUser, event.RoleAssistant, event.RoleTool, "odd"}).Draw(t, "role")
		case "answers":
			m.ToolCallID = word
		case "name":
			m.Name = word
		case "text":
			m.Content = event.Texts(" ")
		case "id":
			if len(m.ToolCalls) > 0 {
				m.ToolCalls[0].ID, msgs[at+1].ToolCallID = word, word
			}
		case "tool":
			if len(m.ToolCalls) > 0 {
				m.ToolCalls[0].Name, msgs[at+1].Name = word, word
			}
		case "drop":
			msgs = append(msgs[:at], msgs[at+1:]...)
		case "twice":
			msgs = append(msgs, msgs[at])
		}
		n := normalizing{open: map[string][]*pendingCall{}, used: map[string]bool{}}
		for i := range msgs {
			n.add(&msgs[i])
		}
		diff := cmp.Diff(msgs, n.emit(), cmpopts.IgnoreUnexported(event.Content{}))
		quick := isNormalized(msgs)
		said[quick]++
		if quick != (diff == "") {
			t.Fatalf("normal says %v; the slow path changes:\n%s", quick, diff)
		}
	})
	if said[true] == 0 || said[false] == 0 {
		t.Errorf("answers drawn: %v", said)
	}
}

// TestNormalizeAllocatesLittle checks that allocations do not depend on the
// 5,000 messages. The limit is not 0, because the race detector empties pools.
func TestNormalizeAllocatesLittle(t *testing.T) {
	msgs := loop(5_000)
	Normalize(msgs)
	if n := testing.AllocsPerRun(20, func() { Normalize(msgs) }); n > 16 {
		t.Errorf("%v allocations", n)
	}
}
