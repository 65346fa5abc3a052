package gemini

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

const (
	piece  = `data: {"candidates":[{"content":{"parts":[{"text":" some words"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":3,"totalTokenCount":13},"modelVersion":"gemini-2.5-pro","responseId":"r"}` + "\r\n\r\n"
	finish = `data: {"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10}}` + "\r\n\r\n"
)

func newFuzzed(t testing.TB, client *http.Client) *Model {
	t.Helper()
	m, err := New(llm.Config{Model: "gemini/gemini-2.5-pro", APIKey: "k", HTTPClient: client})
	must.Succeed(t, err)
	return m
}

// FuzzStream feeds bytes as a stream. Whatever they are, the pieces that were
// handed out make up the answer.
func FuzzStream(f *testing.F) {
	f.Add([]byte(piece + finish))
	f.Add([]byte(`data: {"candidates":[{"content":{"parts":[{"thought":true,"text":"a","thoughtSignature":"s"},{"functionCall":{"name":"x","args":[1]}},{"functionCall":{"id":"a"}},{"functionCall":{"id":"a"}}]}}]}` + "\n\n" + finish))
	f.Add([]byte("data: {\"error\":{\"details\":[{\"@type\":\"google.rpc.RetryInfo\",\"retryDelay\":\"-1s\"}]}}\n\n"))
	f.Add([]byte("data: {\"candidates\":[{\"index\":1}]}\n\ndata: {\"candidates"))
	m := newFuzzed(f, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		var text, thought strings.Builder
		calls := 0
		a := newAccumulator(func(d llm.Delta) {
			text.WriteString(d.Text)
			thought.WriteString(d.Reasoning)
			if d.ToolCall != nil {
				calls++
			}
		})
		w := m.end.Watch(t.Context())
		defer w.Stop()
		if err := m.readStream(bytes.NewReader(data), w, a); err != nil {
			return
		}
		out := a.response()
		if event.JoinText(out.Message.Content) != text.String() || out.Message.ReasoningContent != thought.String() || len(out.Message.ToolCalls) != calls {
			t.Errorf("deltas hold %q and %q, the message %+v", text.String(), thought.String(), out.Message)
		}
		ids := map[string]bool{}
		for _, c := range out.Message.ToolCalls {
			if c.ID == "" || ids[c.ID] || c.Arguments == "" {
				t.Errorf("call %+v", c)
			}
			ids[c.ID] = true
		}
	})
}
