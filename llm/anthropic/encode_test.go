package anthropic

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
		{Role: event.RoleUser, Content: event.Texts("Go.")},
	}
	output := strings.Repeat("ok  \tgithub.com/x/y\t0.01s\n", 20)
	for i := range n / 2 {
		id := fmt.Sprintf("call_%d", i)
		msgs = append(msgs,
			event.Message{Role: event.RoleAssistant, Content: event.Texts("Running the tests."), ToolCalls: []event.ToolCall{{ID: id, Name: "terminal", Arguments: `{"command":"go test ./..."}`}},
				ThinkingBlocks: event.List[event.ThinkingBlock]{{Type: event.TypeThinking, Thinking: "Hm.", Signature: "s"}}},
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

// whole encodes a request and puts its parts together.
func whole(t testing.TB, m *Model, r *llm.Request) []byte {
	t.Helper()
	body, _, err := m.encode(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join(body, nil)
}

func sonnet(t testing.TB) *Model {
	t.Helper()
	m, err := New(llm.Config{Model: "anthropic/claude-sonnet-4-5", APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSessionsEncodeAlike holds the body of a session, written step by step, to
// the same body written at once.
func TestSessionsEncodeAlike(t *testing.T) {
	t.Parallel()
	m := sonnet(t)
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

// TestBlocksAreJSON writes each kind of block and reads it again.
func TestBlocksAreJSON(t *testing.T) {
	t.Parallel()
	text := []block{{Type: "text", Text: "a\"\n"}}
	for want, b := range map[string]block{
		`{"type":"text","text":"a\"\n","cache_control":{"type":"ephemeral"}}`:                 {Type: "text", Text: "a\"\n", Mark: true},
		`{"type":"image","source":{"type":"url","url":"https://x"}}`:                          {Type: "image", Source: source{URL: "https://x"}},
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`:  {Type: "image", Source: source{MediaType: "image/png", Data: "AA=="}},
		`{"type":"tool_use","id":"i","name":"n","input":{"a":1}}`:                             {Type: "tool_use", ID: "i", Name: "n", Input: `{"a":1}`},
		`{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"a\"\n"}]}`: {Type: "tool_result", ID: "i", Content: text},
		`{"type":"tool_result","tool_use_id":"i"}`:                                            {Type: "tool_result", ID: "i"},
		`{"type":"thinking","thinking":"","signature":"s"}`:                                   {Type: "thinking", Signature: "s"},
		`{"type":"redacted_thinking","data":"d"}`:                                             {Type: "redacted_thinking", Data: "d"},
	} {
		if got := string(b.appendTo(nil)); got != want {
			t.Errorf("block  %s\nwant   %s", got, want)
		}
	}
}

func TestLimitMarks(t *testing.T) {
	t.Parallel()
	msgs := conversation(12)
	for i := range msgs {
		msgs[i].Content[0].CachePrompt = true
	}
	out := limitMarks(msgs)
	var kept []int
	for i := range out {
		if out[i].Content[0].CachePrompt {
			kept = append(kept, i)
		}
		if !msgs[i].Content[0].CachePrompt {
			t.Errorf("message %d of the input was changed", i)
		}
	}
	if diff := cmp.Diff([]int{0, 11, 12, 13}, kept); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

func BenchmarkEncode5000(b *testing.B) {
	m := sonnet(b)
	modeltest.BenchEncode(b, func(ctx context.Context, r *llm.Request) error {
		_, _, err := m.encode(ctx, r)
		return err
	})
}
