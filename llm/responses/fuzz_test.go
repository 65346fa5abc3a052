package responses

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

func newModel(t testing.TB) *Model {
	t.Helper()
	m, err := New(llm.Config{Model: "openai/gpt-5.2"})
	must.Succeed(t, err)
	return m
}

func response(data []byte) *http.Response {
	return &http.Response{Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(data))}
}

// FuzzStream feeds bytes as a stream. Whatever they are, the pieces that were
// handed out make up the answer.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		`{"type":"response.output_text.delta","item_id":"m","delta":"a"}` + "\n\ndata: " + `{"type":"response.completed","response":{"status":"completed","output":[]}}`,
		`{"type":"response.output_item.added","output_index":-3,"item":{"type":"function_call","id":"f","call_id":"c","name":"x"}}` + "\n\ndata: " +
			`{"type":"response.function_call_arguments.delta","item_id":"f","delta":{"a":1}}` + "\n\ndata: " + `{"type":"response.completed","response":{"status":"completed"}}`,
		`{"type":"response.reasoning_text.delta","delta":"a"}` + "\n\ndata: " + `{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","summary":[{"text":"b"}]},{"type":"function_call"},{"type":"message","content":[{"refusal":"no"}]}],"usage":{"input_tokens":-1}}}`,
		`{"type":"error"}`, `{"type":"response.failed","response":{"error":{}}}`, `{`,
	} {
		f.Add([]byte("data: " + s + "\n\n"))
	}
	m := newModel(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var text, thought strings.Builder
		var calls []llm.ToolCallDelta
		a := newAccumulator(func(d llm.Delta) {
			text.WriteString(d.Text)
			thought.WriteString(d.Reasoning)
			if c := d.ToolCall; c != nil {
				for len(calls) <= c.Index {
					calls = append(calls, llm.ToolCallDelta{})
				}
				at := &calls[c.Index]
				at.ID, at.Name, at.Arguments = at.ID+c.ID, at.Name+c.Name, at.Arguments+c.Arguments
			}
		})
		w := m.end.Watch(t.Context())
		defer w.Stop()
		if err := m.readStream(response(data), w, a); err != nil {
			return
		}
		out := a.response()
		if got := event.JoinText(out.Message.Content); got != text.String() || out.Message.ReasoningContent != thought.String() {
			t.Errorf("deltas %q and %q, message %q and %q", text.String(), thought.String(), got, out.Message.ReasoningContent)
		}
		ids := map[string]bool{}
		for i, c := range out.Message.ToolCalls {
			d := calls[i]
			if c.ID == "" || ids[c.ID] || d.ID != c.ID || d.Name != c.Name || d.Arguments != c.Arguments && c.Arguments != "{}" {
				t.Errorf("call %+v, deltas %+v", c, d)
			}
			ids[c.ID] = true
		}
		if u := out.Usage; u.Prompt < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.CacheRead+u.CacheWrite > u.Prompt {
			t.Errorf("usage %+v", u)
		}
	})
}

// TestStrict checks which tools and answers use strict mode: those whose schemas
// have a strict form, with servers and models that support it.
func TestStrict(t *testing.T) {
	t.Parallel()
	closed := []byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","default":1}},"required":["a"]}`)
	open := []byte(`{"type":"object","properties":{"a":{"type":"object"}}}`)
	for name, want := range map[string]bool{"openai/gpt-5.6": true, "azure/gpt-5.2": true, "openai/gpt-4-turbo": false, "xai/grok-4": false} {
		m := modelNamed(t, name)
		r := llm.Request{
			Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}, Schema: closed,
			Tools: []llm.Tool{{Name: "closed", Parameters: closed}, {Name: "open", Parameters: open}},
		}
		body := gjson.ParseBytes(whole(t, m, &r))
		const strict = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["integer","null"]}},"required":["a","b"],"additionalProperties":false}`
		schema := string(closed)
		if want {
			schema = strict
		}
		for what, at := range map[string]string{"tool": "tools.0", "answer": "text.format"} {
			got := body.Get(at)
			if got.Get("strict").Bool() != want || got.Get("schema").Raw+got.Get("parameters").Raw != schema {
				t.Errorf("%s, %s: %s", name, what, got)
			}
		}
		if got := body.Get("tools.1"); got.Get("strict").Bool() || got.Get("parameters").Raw != string(open) {
			t.Errorf("%s, a schema without strict form: %s", name, got)
		}
	}
}

func modelNamed(t *testing.T, name string) *Model {
	t.Helper()
	provider, _, _ := strings.Cut(name, "/")
	m, err := New(llm.Config{Model: name, Provider: provider, BaseURL: "https://host.example/v1"})
	must.Succeed(t, err)
	return m
}

// whole encodes a request and puts its parts together.
func whole(t *testing.T, m *Model, r *llm.Request) []byte {
	t.Helper()
	body, err := m.encode(t.Context(), r, &refusals{})
	must.Succeed(t, err)
	return bytes.Join(body, nil)
}
