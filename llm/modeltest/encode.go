package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

// LongHistory is a conversation of n messages of a typical agent: a system
// prompt of 16 kB, turns of a sentence and a call, results of half a kilobyte.
func LongHistory(n int) []event.Message {
	msgs := make([]event.Message, 0, n+8)
	msgs = append(msgs,
		event.Message{Role: event.RoleSystem, Content: event.List[event.Content]{{Type: event.TypeText, Text: strings.Repeat("You are a test. ", 1_000), CachePrompt: true}}},
		event.Message{Role: event.RoleUser, Content: event.Texts("Go.")})
	output := strings.Repeat("ok  \tgithub.com/x/y\t0.01s\n", 20)
	for i := 0; len(msgs) < n; i++ {
		id := fmt.Sprintf("call_%d", i)
		msgs = append(msgs,
			event.Message{
				Role: event.RoleAssistant, Content: event.Texts("Running the tests."), ReasoningContent: "Hm.",
				ThinkingBlocks: event.List[event.ThinkingBlock]{{Type: event.TypeThinking, Thinking: "Hm.", Signature: "c2lnbmF0dXJl"}},
				ToolCalls:      []event.ToolCall{{ID: id, Name: "terminal", Arguments: `{"command":"go test ./..."}`}},
			},
			event.Message{Role: event.RoleTool, Name: "terminal", ToolCallID: id, Content: event.Texts(output)})
	}
	return msgs
}

// AsAgent returns the first n messages as an agent sends them: in a new slice,
// with a cache mark on the last message.
func AsAgent(msgs []event.Message, n int) []event.Message {
	out := append([]event.Message(nil), msgs[:n]...)
	mark(out)
	return out
}

// EncodeSessions compares the body of a session, encoded step by step, with the
// same body encoded at once. The history has 22 messages.
func EncodeSessions(t *testing.T, history []event.Message, encode func(*llm.Request) []byte) {
	t.Helper()
	history = append(history, event.Message{Role: event.RoleAssistant, Content: event.Texts("Done.")})
	for _, n := range []int{2, 4, 6, 6, 10, 10, 22, 10, 12, 23} {
		r := llm.Request{Messages: AsAgent(history, n), Session: "s"}
		got := encode(&r)
		r.Session = ""
		want := encode(&r)
		if !json.Valid(got) || !bytes.Equal(got, want) {
			t.Fatalf("%d messages (-at once +in steps):\n%s", n, cmp.Diff(string(want), string(got)))
		}
	}
}

// BenchEncode measures how an adapter encodes a conversation of 5,000 messages:
// first is the first call of a process; grown is each later call, with two more
// messages, a moved mark and a history declared by llm.Growth; anew is the same
// with a history built again for each call. The budget is 5 ms.
func BenchEncode(b *testing.B, encode func(context.Context, *llm.Request) error) {
	const n = 5_000
	session := 0
	b.Run("first", func(b *testing.B) {
		msgs := LongHistory(n)
		b.ReportAllocs()
		for b.Loop() {
			session++
			var g llm.Growth
			r := llm.Request{Messages: msgs, Session: fmt.Sprint("first ", session)}
			must.Succeed(b, encode(g.Context(b.Context(), msgs, len(msgs)-1), &r))
		}
	})
	for _, size := range []int{n / 10, n} {
		b.Run(fmt.Sprint("grown ", size), func(b *testing.B) {
			var g llm.Growth
			all := LongHistory(size + 100)
			msgs := make([]event.Message, 0, cap(all))
			session++
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i%50 == 0 { // begin anew, without counting that
					b.StopTimer()
					session++
					msgs = append(make([]event.Message, 0, cap(all)), all[:size-2]...)
					step(b, &g, msgs, session, encode)
					b.StartTimer()
				}
				i++
				msgs = append(msgs, all[len(msgs):len(msgs)+2]...)
				step(b, &g, msgs, session, encode)
			}
		})
	}
	b.Run("anew", func(b *testing.B) {
		all := LongHistory(n + 2)
		session++
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			msgs := append([]event.Message(nil), all[:n+i%2*2]...)
			unmark := mark(msgs)
			r := llm.Request{Messages: msgs, Session: fmt.Sprint(session)}
			must.Succeed(b, encode(b.Context(), &r))
			unmark()
		}
	})
}

// step encodes a history as an agent would, and removes the mark again.
func step(b *testing.B, g *llm.Growth, msgs []event.Message, session int, encode func(context.Context, *llm.Request) error) {
	b.Helper()
	defer mark(msgs)()
	r := llm.Request{Messages: msgs, Session: fmt.Sprint(session)}
	must.Succeed(b, encode(g.Context(b.Context(), msgs, len(msgs)-1), &r))
}

// mark marks the last message.
func mark(msgs []event.Message) (unmark func()) {
	last := &msgs[len(msgs)-1]
	plain := last.Content
	last.Content = append(event.List[event.Content](nil), plain...)
	last.Content[len(plain)-1].CachePrompt = true
	return func() { last.Content = plain }
}
