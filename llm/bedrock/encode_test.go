package bedrock

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
)

// conversation is a history of n messages with results of half a kilobyte.
func conversation(n int) []event.Message {
	msgs := []event.Message{
		{Role: event.RoleSystem, Content: event.List[event.Content]{{Type: event.TypeText, Text: strings.Repeat("You are a test. ", 1_000), CachePrompt: true}}},
		user("Go."),
	}
	output := strings.Repeat("ok  \tgithub.com/x/y\t0.01s\n", 20)
	for i := range n / 2 {
		id := fmt.Sprintf("call_%d", i)
		msgs = append(msgs,
			event.Message{
				Role: event.RoleAssistant, Content: event.Texts("Running the tests."), ToolCalls: []event.ToolCall{{ID: id, Name: "terminal", Arguments: `{"command":"go test ./..."}`}},
				ThinkingBlocks: event.List[event.ThinkingBlock]{{Type: event.TypeThinking, Thinking: "Hm.", Signature: "s"}},
			},
			event.Message{Role: event.RoleTool, Name: "terminal", ToolCallID: id, Content: event.Texts(output)})
	}
	return msgs
}

// asAgent returns the first n messages as an agent sends them: a new slice,
// the last message marked.
func asAgent(msgs []event.Message, n int) []event.Message {
	out := append([]event.Message(nil), msgs[:n]...)
	last := &out[n-1]
	last.Content = append(event.List[event.Content](nil), last.Content...)
	last.Content[len(last.Content)-1].CachePrompt = true
	return out
}

// TestSessionsEncodeAlike holds the body of a session, written step by step, to
// the same body written at once.
func TestSessionsEncodeAlike(t *testing.T) {
	t.Parallel()
	m := newModel(t, nil)
	msgs := conversation(20)
	msgs = append(msgs, event.Message{Role: event.RoleAssistant, Content: event.Texts("Done.")})
	for _, n := range []int{2, 4, 6, 6, 22, 10, 23} {
		r := llm.Request{Messages: asAgent(msgs, n), Session: "s"}
		got := whole(t, m, &r)
		r.Session = ""
		want := whole(t, m, &r)
		if !json.Valid(got) || !bytes.Equal(got, want) {
			t.Fatalf("%d messages (-at once +in steps):\n%s", n, cmp.Diff(string(want), string(got)))
		}
	}
}

// whole encodes a request and puts its parts together.
func whole(t testing.TB, m *Model, r *llm.Request) []byte {
	t.Helper()
	body, err := m.encode(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join(body, nil)
}

func BenchmarkEncode5000(b *testing.B) {
	m := newModel(b, nil)
	modeltest.BenchEncode(b, func(ctx context.Context, r *llm.Request) error {
		_, err := m.encode(ctx, r)
		return err
	})
}
