package bedrock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
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
		got, err := m.encode(&r)
		if err != nil {
			t.Fatal(err)
		}
		r.Session = ""
		want, err := m.encode(&r)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(got) || !bytes.Equal(got, want) {
			t.Fatalf("%d messages (-at once +in steps):\n%s", n, cmp.Diff(string(want), string(got)))
		}
	}
}

// TestAtMost holds the quick bound to the estimate.
func TestAtMost(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]llm.Request{
		"ascii":  {Messages: conversation(50)},
		"wide":   {Messages: []event.Message{user(strings.Repeat("世", 999)), user("👋"), user("é"), user("x")}},
		"images": {Messages: []event.Message{{Role: event.RoleUser, Content: event.List[event.Content]{event.Image(pixel, pixel)}}}},
		"tools":  {Tools: []llm.Tool{{Name: "a", Description: "b", Parameters: []byte(`{}`)}}},
		"data":   {Messages: []event.Message{{Role: event.RoleAssistant, ThinkingBlocks: event.List[event.ThinkingBlock]{{Type: "redacted_thinking", Data: "abcdefgh"}}}}},
	} {
		if low, high := llm.EstimateTokens(r.Messages, r.Tools), atMost(&r); high < low {
			t.Errorf("%s: %d is less than %d", name, high, low)
		}
	}
}

func BenchmarkEncode5000(b *testing.B) {
	m, msgs := newModel(b, nil), conversation(5_000)
	m.info.ContextWindow = 1_000_000 // the whole history fits
	for name, session := range map[string]string{"new": "", "next": "s"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := len(msgs)
			for b.Loop() {
				r := llm.Request{Messages: asAgent(msgs, n), Session: session}
				if _, err := m.encode(&r); err != nil {
					b.Fatal(err)
				}
				n = len(msgs) - (len(msgs)-n+2)%4 // two messages more, or two less
			}
		})
	}
}
