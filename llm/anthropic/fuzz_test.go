package anthropic

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

func newModel(t testing.TB) *Model {
	t.Helper()
	m, err := New(llm.Config{Model: "anthropic/claude-sonnet-4-5"})
	must.Succeed(t, err)
	return m
}

const (
	start = `data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"
	finish = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
)

// FuzzStream feeds bytes as a stream. Whatever they are, the pieces that were
// handed out make up the answer.
func FuzzStream(f *testing.F) {
	f.Add([]byte(start + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}` + "\n\n" + finish))
	f.Add([]byte(`data: {"type":"content_block_start","index":-1,"content_block":{"type":"tool_use","id":"","name":"x","input":{"a":1}}}` + "\n\n" + `data: {"type":"content_block_delta","index":-1,"delta":{"type":"input_json_delta","partial_json":"{"}}` + "\n\n" + finish))
	f.Add([]byte("event: error\ndata: {\"type\":\"error\"}\n\n"))
	f.Add([]byte("data: {\"type\":\"message_start\",\"message\":null}\n\n"))
	m := newModel(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var text, thought strings.Builder
		a := newAccumulator(func(d llm.Delta) {
			text.WriteString(d.Text)
			thought.WriteString(d.Reasoning)
		})
		res := &http.Response{Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(data))}
		w := m.end.Watch(t.Context())
		defer w.Stop()
		if err := m.readStream(res, w, a); err != nil {
			return
		}
		out := a.response()
		said := 0
		for _, c := range out.Message.Content {
			said += len(c.Text)
		}
		if said != text.Len() || len(out.Message.ReasoningContent) != thought.Len() {
			t.Errorf("deltas hold %d and %d bytes, the message %d and %d", text.Len(), thought.Len(), said, len(out.Message.ReasoningContent))
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
