package bedrock

import (
	"bytes"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
)

// TestSessionsEncodeAlike compares the body of a session, encoded step by step,
// with the same body encoded at once.
func TestSessionsEncodeAlike(t *testing.T) {
	t.Parallel()
	m := newModel(t, nil)
	modeltest.EncodeSessions(t, modeltest.LongHistory(22), func(r *llm.Request) []byte { return whole(t, m, r) })
}

// whole encodes a request and puts its parts together.
func whole(t testing.TB, m *Model, r *llm.Request) []byte {
	t.Helper()
	body, err := m.encode(t.Context(), r)
	must.Succeed(t, err)
	return bytes.Join(body, nil)
}
