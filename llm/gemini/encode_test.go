package gemini

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
		{Role: event.RoleSystem, Content: event.Texts(strings.Repeat("You are a test. ", 1_000))},
		{Role: event.RoleUser, Content: event.Texts("Go.")},
	}
	output := strings.Repeat("ok  \tgithub.com/x/y\t0.01s\n", 20)
	for i := range n / 2 {
		id := fmt.Sprintf("call_%d", i)
		result := event.Texts(output)
		if i%3 == 1 {
			result = append(result, event.Image("data:image/png;base64,AAAA"))
		}
		msgs = append(msgs,
			event.Message{Role: event.RoleAssistant, Content: event.Texts("Running the tests."), ToolCalls: []event.ToolCall{{ID: id, Name: "terminal", Arguments: `{"command":"go test ./..."}`, ResponsesItemID: SignaturePrefix + "s"}}},
			event.Message{Role: event.RoleTool, Name: "terminal", ToolCallID: id, Content: result})
	}
	return msgs
}

// TestSessionsEncodeAlike holds the body of a session, written step by step, to
// the same body written at once.
func TestSessionsEncodeAlike(t *testing.T) {
	t.Parallel()
	m := newFuzzed(t, nil)
	msgs := conversation(20)
	msgs = append(msgs, event.Message{Role: event.RoleAssistant, Content: event.Texts("Done.")})
	for _, n := range []int{2, 4, 6, 6, 22, 10, 23} {
		r := llm.Request{Messages: msgs[:n], Session: "s"}
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
	m := newFuzzed(b, nil)
	modeltest.BenchEncode(b, func(ctx context.Context, r *llm.Request) error {
		_, err := m.encode(ctx, r)
		return err
	})
}
