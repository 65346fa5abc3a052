package gemini

import (
	"bytes"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
)

// TestSessionsEncodeAlike compares the body of a session, encoded step by step,
// with the same body encoded at once.
func TestSessionsEncodeAlike(t *testing.T) {
	t.Parallel()
	m := newFuzzed(t, nil)
	msgs := modeltest.LongHistory(22)
	for i := range msgs {
		for k := range msgs[i].ToolCalls {
			msgs[i].ToolCalls[k].ResponsesItemID = SignaturePrefix + "s"
		}
		if i%6 == 5 { // the second result and every third after it
			msgs[i].Content = append(msgs[i].Content, event.Image("data:image/png;base64,AAAA"))
		}
	}
	modeltest.EncodeSessions(t, msgs, func(r *llm.Request) []byte { return whole(t, m, r) })
}

// whole encodes a request and puts its parts together.
func whole(t testing.TB, m *Model, r *llm.Request) []byte {
	t.Helper()
	body, err := m.encode(t.Context(), r)
	must.Succeed(t, err)
	return bytes.Join(body, nil)
}
