package ollama

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

func newModel(t testing.TB, c *http.Client) *Model {
	t.Helper()
	m, err := New(llm.Config{Model: "ollama/qwen3:32b", HTTPClient: c})
	must.Succeed(t, err)
	return m
}

// FuzzStream feeds bytes as a stream. Whatever they are, the pieces that were
// handed out make up the answer.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		`{"message":{"content":"a"}}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop","eval_count":-1}`,
		`{"message":{"thinking":"a","tool_calls":[{"function":{"name":"x","arguments":{"a":1}}},{"id":"b","function":{"arguments":"{"}},{"id":"b","function":{"arguments":null}}]}}` + "\r\n\n" + `{"done":true}`,
		`{"error":"x"}`, `{"error":{"message":"x"}}`, `[`, `{"done":true}`,
	} {
		f.Add(s)
	}
	m := newModel(f, nil)
	f.Fuzz(func(t *testing.T, data string) {
		var text, thought strings.Builder
		var calls []llm.ToolCallDelta
		a := &accumulator{Deltas: exchange.To(func(d llm.Delta) {
			text.WriteString(d.Text)
			thought.WriteString(d.Reasoning)
			if d.ToolCall != nil {
				calls = append(calls, *d.ToolCall)
			}
		})}
		w := m.end.Watch(t.Context())
		defer w.Stop()
		if err := m.readStream(strings.NewReader(data), w, a); err != nil {
			return
		}
		out := a.response("m")
		if got := event.JoinText(out.Message.Content); got != text.String() || out.Message.ReasoningContent != thought.String() || len(calls) != len(out.Message.ToolCalls) {
			t.Fatalf("deltas %q, %q and %d calls, message %+v", text.String(), thought.String(), len(calls), out.Message)
		}
		ids := map[string]bool{}
		for i, c := range out.Message.ToolCalls {
			if d := calls[i]; c.ID == "" || ids[c.ID] || d.ID != c.ID || d.Name != c.Name || d.Arguments != c.Arguments || d.Index != i {
				t.Errorf("call %+v, delta %+v", c, d)
			}
			ids[c.ID] = true
		}
		if out.Usage.Prompt < 0 || out.Usage.Output < 0 {
			t.Errorf("usage %+v", out.Usage)
		}
	})
}

// FuzzShow feeds bytes as the description of a model: the requested window is
// positive and within the limit.
func FuzzShow(f *testing.F) {
	f.Add(`{"capabilities":["tools"],"parameters":"num_ctx 1","model_info":{"general.architecture":"x","x.context_length":1e30}}`)
	f.Add(`{"capabilities":{"a":1},"parameters":[],"model_info":[],"details":"x"}`)
	m := newModel(f, nil)
	f.Fuzz(func(t *testing.T, data string) {
		c := m.read(gjson.Parse(data))
		if c.window <= 0 || c.window > 999_999_999 {
			t.Errorf("window %d", c.window)
		}
	})
}
