package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

func newModel(t testing.TB) *Model {
	t.Helper()
	m, err := New(llm.Config{Model: "openai/gpt-4o"})
	must.Succeed(t, err)
	return m
}

// FuzzStream feeds bytes as a stream. Whatever they are, the pieces that were
// handed out make up the answer.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}},{\"index\":-7,\"function\":{\"arguments\":{}}}]},\"finish_reason\":\"tool_calls\"}]}\r\n\r\n",
		"data: {\"error\":{\"code\":\"x\"}}\n\n", "data: {\"usage\":{\"prompt_tokens\":1e99}}\n\n", ": comment\n\n",
		"data: {\"choices\":[{\"delta\":{\"thinking_blocks\":[{\"thinking\":\"a\"},{\"type\":\"redacted_thinking\",\"data\":\"{\"},{\"signature\":\"s\"}]},\"finish_reason\":\"stop\"}]}\n\n",
		"data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"a\",\"signature\":1},{\"type\":\"reasoning.encrypted\",\"data\":null},7]},\"finish_reason\":\"stop\"}]}\n\n", "data: {\"choices\":[{\"delta\":{\"content\":[{\"text\":1}]}}]}\n\n",
	} {
		f.Add([]byte(s))
	}
	m := newModel(f)
	var proxies []*Model // that give signed thinking back
	for _, provider := range []string{"litellm_proxy", "openrouter"} {
		p, err := New(llm.Config{Model: provider + "/claude-sonnet-4-5", Provider: provider, BaseURL: "http://localhost"})
		must.Succeed(f, err)
		proxies = append(proxies, p)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var text strings.Builder
		calls := map[int]*strings.Builder{}
		a := newAccumulator(func(d llm.Delta) {
			text.WriteString(d.Text)
			if c := d.ToolCall; c != nil {
				if calls[c.Index] == nil {
					calls[c.Index] = &strings.Builder{}
				}
				calls[c.Index].WriteString(c.Arguments)
			}
		})
		res := &http.Response{Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(data))}
		w := m.end.Watch(t.Context())
		defer w.Stop()
		if err := m.readStream(res, w, a); err != nil {
			return
		}
		out := a.response()
		if got := event.JoinText(out.Message.Content); len(got) != text.Len() {
			t.Errorf("deltas hold %d bytes, the message %d", text.Len(), len(got))
		}
		r := &llm.Request{Messages: append([]event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}, out.Message)}
		for _, again := range proxies {
			if body, err := again.encode(t.Context(), r); err != nil || !json.Valid(bytes.Join(body, nil)) {
				t.Errorf("sent back: %v in %s", err, body)
			}
		}
		ids := map[string]bool{}
		for i, c := range out.Message.ToolCalls {
			if c.ID == "" || ids[c.ID] {
				t.Errorf("call id %q", c.ID)
			}
			ids[c.ID] = true
			if calls[i] != nil && c.Arguments != "{}" && calls[i].String() != c.Arguments {
				t.Errorf("arguments %q, deltas %q", c.Arguments, calls[i])
			}
		}
	})
}
