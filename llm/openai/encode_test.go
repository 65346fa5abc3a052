package openai

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
)

// conversation is a history of 22 messages, of which a result has an image.
func conversation() []event.Message {
	msgs := modeltest.LongHistory(22)
	msgs[9].Content = append(msgs[9].Content, event.Image("https://example.com/a.png"))
	return msgs
}

// whole encodes a request and puts its parts together.
func whole(t testing.TB, m *Model, r *llm.Request) []byte {
	t.Helper()
	body, err := m.encode(t.Context(), r)
	must.Succeed(t, err)
	return bytes.Join(body, nil)
}

func modelNamed(t testing.TB, name string) *Model {
	t.Helper()
	provider, _, _ := strings.Cut(name, "/")
	m, err := New(llm.Config{Model: name, Provider: provider, BaseURL: "https://host.example/v1", APIKey: "k"})
	must.Succeed(t, err)
	return m
}

// TestSessionsEncodeAlike compares the body of a session, encoded step by step,
// with the same body encoded at once.
func TestSessionsEncodeAlike(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai/gpt-4o", "openhands/claude-opus-4-5", "deepseek/deepseek-chat"} {
		t.Run(name, func(t *testing.T) {
			m := modelNamed(t, name)
			m.quirks.PromptCacheKey = false // it names the session
			modeltest.EncodeSessions(t, conversation(), func(r *llm.Request) []byte { return whole(t, m, r) })
		})
	}
}

// TestImagesFollowResults checks the position of the images of tool results.
func TestImagesFollowResults(t *testing.T) {
	t.Parallel()
	m := modelNamed(t, "openai/gpt-4o")
	two := []event.ToolCall{{ID: "a", Name: "x"}, {ID: "b", Name: "x"}}
	picture := func(id string) event.Message {
		return event.Message{Role: event.RoleTool, ToolCallID: id, Content: event.List[event.Content]{event.Image("https://" + id)}}
	}
	body := whole(t, m, &llm.Request{NoStream: true, Messages: []event.Message{
		{Role: event.RoleUser, Content: event.Texts("go")},
		{Role: event.RoleAssistant, ToolCalls: two}, picture("a"), picture("b"),
	}})
	const from = `{"type":"text","text":"(The image of the tool result above.)"}`
	want := `{"model":"gpt-4o","messages":[{"role":"user","content":"go"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"x","arguments":"{}"}}]},` +
		`{"role":"tool","content":"(The image follows in the next message.)","tool_call_id":"a"},` +
		`{"role":"tool","content":"(The image follows in the next message.)","tool_call_id":"b"},` +
		`{"role":"user","content":[` + from + `,{"type":"image_url","image_url":{"url":"https://a"}},` + from + `,{"type":"image_url","image_url":{"url":"https://b"}}]}]}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestStrict checks which tools and answers use strict mode: those whose schemas
// have a strict form, with servers and models that support it.
func TestStrict(t *testing.T) {
	t.Parallel()
	closed := []byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","default":1}},"required":["a"]}`)
	open := []byte(`{"type":"object","properties":{"a":{"type":"object"}}}`)
	for name, want := range map[string]bool{"openai/gpt-4o": true, "azure/gpt-4o": true, "openai/gpt-7": true, "openai/gpt-4-turbo": false, "groq/llama-3.3-70b": false, "vllm/x": false} {
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
		for what, at := range map[string]string{"tool": "tools.0.function", "answer": "response_format.json_schema"} {
			got := body.Get(at)
			if got.Get("strict").Bool() != want || got.Get("schema").Raw+got.Get("parameters").Raw != schema {
				t.Errorf("%s, %s: %s", name, what, got)
			}
		}
		if got := body.Get("tools.1.function"); got.Get("strict").Bool() || got.Get("parameters").Raw != string(open) {
			t.Errorf("%s, a schema without strict form: %s", name, got)
		}
	}
}
