package anthropic

import (
	"bytes"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
)

// whole encodes a request and puts its parts together.
func whole(t testing.TB, m *Model, r *llm.Request) []byte {
	t.Helper()
	body, _, err := m.encode(t.Context(), r)
	must.Succeed(t, err)
	return bytes.Join(body, nil)
}

func sonnet(t testing.TB) *Model {
	t.Helper()
	m, err := New(llm.Config{Model: "anthropic/claude-sonnet-4-5", APIKey: "k"})
	must.Succeed(t, err)
	return m
}

// TestSessionsEncodeAlike compares the body of a session, encoded step by step,
// with the same body encoded at once.
func TestSessionsEncodeAlike(t *testing.T) {
	t.Parallel()
	m := sonnet(t)
	modeltest.EncodeSessions(t, modeltest.LongHistory(22), func(r *llm.Request) []byte { return whole(t, m, r) })
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
