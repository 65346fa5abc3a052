package bedrock

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

func newModel(t testing.TB, client *http.Client) *Model {
	t.Helper()
	m, err := New(llm.Config{Model: "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", HTTPClient: client, AWS: signer}, environ(region))
	must.Succeed(t, err)
	return m
}

var (
	piece  = frame("contentBlockDelta", []byte(`{"contentBlockIndex":0,"delta":{"text":" some words"},"p":"abcdefgh"}`))
	finish = slices.Concat(frame("contentBlockStop", []byte(`{"contentBlockIndex":0}`)), frame("messageStop", []byte(`{"stopReason":"end_turn"}`)),
		frame("metadata", []byte(`{"usage":{"inputTokens":3,"outputTokens":4},"metrics":{"latencyMs":7}}`)))
)

// FuzzStream feeds payloads as events of a stream. Whatever they are, the pieces
// that were handed out make up the answer.
func FuzzStream(f *testing.F) {
	f.Add("contentBlockDelta", []byte(`{"contentBlockIndex":0,"delta":{"text":"a"}}`), "messageStop", []byte(`{"stopReason":"end_turn"}`))
	f.Add("contentBlockStart", []byte(`{"start":{"toolUse":{"toolUseId":"","name":"x"}}}`), "contentBlockDelta", []byte(`{"delta":{"toolUse":{"input":"{"}}}`))
	f.Add("contentBlockDelta", []byte(`{"delta":{"reasoningContent":{"text":"a","signature":"s","redactedContent":"YQ=="}}}`), "metadata", []byte(`{"usage":{"inputTokens":-1}}`))
	m := newModel(f, nil)
	f.Fuzz(func(t *testing.T, e1 string, p1 []byte, e2 string, p2 []byte) {
		var text, thought strings.Builder
		a := newAccumulator(func(d llm.Delta) {
			text.WriteString(d.Text)
			thought.WriteString(d.Reasoning)
		})
		if len(e1)+len(e2) > 1000 {
			return
		}
		w := m.end.Watch(t.Context())
		defer w.Stop()
		data := slices.Concat(frame(e1, p1), frame(e2, p2), frame("messageStop", []byte(`{"stopReason":"end_turn"}`)))
		if err := m.readStream(bytes.NewReader(data), w, a); err != nil {
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

// FuzzDecoder feeds bytes. The messages do not depend on how they are split,
// and an accepted message equals its encoding.
func FuzzDecoder(f *testing.F) {
	f.Add(piece)
	f.Add(finish)
	f.Add(rawFrame(map[string]string{":message-type": "exception", ":exception-type": "throttlingException"}, []byte(`{"message":"slow"}`)))
	f.Add([]byte{0, 0, 0, 16, 0, 0, 0, 0, 5, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, single := newDecoder(bytes.NewReader(data)), newDecoder(oneByte{bytes.NewReader(data)})
		for {
			a, errA := whole.next()
			b, errB := single.next()
			if (errA == nil) != (errB == nil) || a.event != b.event || !bytes.Equal(a.payload, b.payload) {
				t.Fatalf("%+v, %v and %+v, %v", a, errA, b, errB)
			}
			if errA != nil {
				return
			}
		}
	})
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }
