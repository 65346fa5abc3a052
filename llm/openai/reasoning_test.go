package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/openai"
)

// compatible is a server whose last request can be read.
type compatible struct {
	model *openai.Model
	body  string
}

func serveAs(t *testing.T, model string, chunks ...string) *compatible {
	t.Helper()
	c := &compatible{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		c.body = string(b)
		stream(chunks...)(w, r)
	}))
	t.Cleanup(srv.Close)
	provider, _, _ := strings.Cut(model, "/")
	m, err := openai.New(llm.Config{Model: model, Provider: provider, BaseURL: srv.URL})
	must.Succeed(t, err)
	c.model = m
	return c
}

func (c *compatible) must(t *testing.T, r llm.Request) *llm.Response {
	t.Helper()
	resp, err := llm.Complete(t.Context(), c.model, r, nil)
	must.Succeed(t, err)
	return resp
}

const called = `"tool_calls":[{"index":0,"id":"c1","function":{"name":"x","arguments":"{}"}}]`

// TestReasoningRoundTrip checks how the reasoning of each kind of server is
// sent back.
func TestReasoningRoundTrip(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model     string
		chunks    []string
		reasoning string
		member    string
		want      string
	}{
		"LiteLLM with Claude": {"litellm_proxy/claude-sonnet-4-5", []string{
			`"reasoning_content":"Let ","thinking_blocks":[{"type":"thinking","thinking":"Let ","signature":null}]`,
			`"reasoning_content":"me","thinking_blocks":[{"type":"thinking","thinking":"me"}]`,
			`"thinking_blocks":[{"type":"thinking","thinking":"","signature":"sig1"}]`,
			`"thinking_blocks":[{"type":"redacted_thinking","data":"opaque"}]`,
			`"reasoning_content":"more","thinking_blocks":[{"type":"thinking","thinking":"more","signature":"sig2"}]`,
		}, "Let memore", "thinking_blocks", `[{"type":"thinking","thinking":"Let me","signature":"sig1"},{"type":"redacted_thinking","data":"opaque"},{"type":"thinking","thinking":"more","signature":"sig2"}]`},
		"LiteLLM, blocks only": {"openhands/claude-sonnet-4-5", []string{`"thinking_blocks":[{"type":"thinking","thinking":"a","signature":"s"}]`}, "a", "thinking_blocks", `[{"type":"thinking","thinking":"a","signature":"s"}]`},
		"unsigned":             {"litellm_proxy/claude-sonnet-4-5", []string{`"thinking_blocks":[{"type":"thinking","thinking":"a"}]`}, "a", "thinking_blocks", ""},
		"OpenRouter with Claude": {"openrouter/anthropic/claude-sonnet-4.5", []string{
			`"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"h","index":0,"format":"anthropic-claude-v1"},{"type":"reasoning.text","text":"m","index":0}]`,
			`"reasoning_details":[{"type":"reasoning.text","signature":"sig","index":0}]`,
		}, "hm", "reasoning_details", `[{"type":"reasoning.text","text":"hm","signature":"sig","format":"anthropic-claude-v1"}]`},
		"OpenRouter with Gemini": {"openrouter/google/gemini-2.5-pro", []string{
			`"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","index":0,"format":"google-gemini-v1"}]`,
			`"reasoning_details":[{"type":"reasoning.encrypted","data":"AAA","id":"c1","index":1,"format":"google-gemini-v1"}]`,
		}, "hm", "reasoning_details", `[{"format":"google-gemini-v1","index":0,"text":"hm","type":"reasoning.text"},{"data":"AAA","format":"google-gemini-v1","id":"c1","index":1,"type":"reasoning.encrypted"}]`},
		"OpenRouter with DeepSeek": {"openrouter/deepseek/deepseek-reasoner", []string{`"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]`}, "hm", "reasoning", `"hm"`},
		"MiniMax":                  {"minimax/MiniMax-M2", []string{`"reasoning_details":[{"type":"reasoning.text","text":"h","index":0}]`, `"reasoning_details":[{"type":"reasoning.text","text":"m","index":0}]`}, "hm", "reasoning_details", `[{"type":"reasoning.text","text":"hm"}]`},
		"DeepSeek":                 {"deepseek/deepseek-reasoner", []string{`"reasoning_content":"hm"`}, "hm", "reasoning_content", `"hm"`},
		"Moonshot":                 {"moonshot/kimi-k2-thinking", []string{`"reasoning_content":"hm"`}, "hm", "reasoning_content", `"hm"`},
		"vLLM":                     {"vllm/moonshotai/kimi-k2-thinking", []string{`"reasoning":"hm"`}, "hm", "reasoning", `"hm"`},
		"an older vLLM":            {"vllm/moonshotai/kimi-k2-thinking", []string{`"reasoning_content":"hm"`}, "hm", "reasoning_content", `"hm"`},
		"a model that forgets":     {"zai/glm-4.6", []string{`"reasoning_content":"hm"`}, "hm", "reasoning_content", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var chunks []string
			for _, c := range append(tt.chunks, called) {
				chunks = append(chunks, delta(c))
			}
			c := serveAs(t, tt.model, append(chunks, finished)...)
			r := hi()
			resp := c.must(t, r)
			if resp.Message.ReasoningContent != tt.reasoning {
				t.Errorf("reasoning %q, want %q", resp.Message.ReasoningContent, tt.reasoning)
			}
			r.Messages = append(r.Messages, resp.Message)
			c.must(t, r)
			if diff := cmp.Diff(tt.want, gjson.Get(c.body, "messages.1."+tt.member).Raw); diff != "" {
				t.Errorf("%s (-want +got):\n%s\nin %s", tt.member, diff, c.body)
			}
		})
	}
}

// TestForeignReasoning checks that a conversation continued with another
// provider does not send the first one's signatures.
func TestForeignReasoning(t *testing.T) {
	t.Parallel()
	r := hi()
	r.Messages = append(r.Messages, event.Message{Role: event.RoleAssistant, Content: event.Texts("x"), ThinkingBlocks: event.List[event.ThinkingBlock]{
		{Thinking: "a", Signature: "s"}, {Type: event.TypeRedacted, Data: "opaque"}}}, r.Messages[0])
	claude := serveAs(t, "litellm_proxy/claude-sonnet-4-5", delta(`"content":"a"`), finished)
	claude.must(t, llm.Request{Messages: []event.Message{r.Messages[0], {Role: event.RoleAssistant, Content: event.Texts("x"), ThinkingBlocks: event.List[event.ThinkingBlock]{
		{Signature: "gemini:AAA"}, {Type: event.TypeRedacted, Data: `{"type":"reasoning.encrypted"}`}, {Thinking: "unsigned"}}}, r.Messages[0]}})
	if gjson.Get(claude.body, "messages.1.thinking_blocks").Exists() {
		t.Errorf("Claude was sent %s", claude.body)
	}
	for _, model := range []string{"openai/gpt-4o", "openrouter/openai/gpt-4o", "litellm_proxy/gpt-4o", "groq/llama-3.3-70b-versatile"} {
		c := serveAs(t, model, delta(`"content":"a"`), finished)
		c.must(t, r)
		if strings.Contains(c.body, "opaque") || strings.Contains(c.body, `"s"`) {
			t.Errorf("%s was sent %s", model, c.body)
		}
	}
}

// TestProxyThinking requests Claude's thinking only if the current turn began
// with it.
func TestProxyThinking(t *testing.T) {
	t.Parallel()
	signed := event.List[event.ThinkingBlock]{{Thinking: "a", Signature: "s"}}
	for name, tt := range map[string]struct {
		model, effort string
		blocks        event.List[event.ThinkingBlock]
		want          string
	}{
		"signed":        {"litellm_proxy/claude-sonnet-4-5", "xhigh", signed, "high"},
		"unsigned":      {"litellm_proxy/claude-sonnet-4-5", "high", nil, ""},
		"not wanted":    {"litellm_proxy/claude-sonnet-4-5", "none", signed, ""},
		"not reasoning": {"litellm_proxy/claude-3-5-haiku", "high", signed, ""},
		"not Claude":    {"litellm_proxy/gpt-5.2", "xhigh", nil, "xhigh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serveAs(t, tt.model, delta(`"content":"a"`), finished)
			r := hi()
			r.ReasoningEffort = tt.effort
			r.Messages = append(r.Messages, event.Message{Role: event.RoleAssistant, ThinkingBlocks: tt.blocks, ToolCalls: []event.ToolCall{{ID: "c1", Name: "x"}}})
			c.must(t, r)
			if got := gjson.Get(c.body, "reasoning_effort").String(); got != tt.want {
				t.Errorf("effort %q, want %q", got, tt.want)
			}
		})
	}
}

// TestUnsupportedParameters checks which parameters are not sent to each
// server.
func TestUnsupportedParameters(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]map[string]string{
		"openrouter/openai/gpt-4o":         {"max_tokens": "9", "tool_choice": `"required"`, "response_format.type": `"json_schema"`, "stream_options": `{"include_usage":true}`},
		"deepseek/deepseek-chat":           {"max_tokens": "9", "tool_choice": `"required"`, "response_format": `{"type":"json_object"}`},
		"mistral/mistral-large-latest":     {"max_tokens": "9", "tool_choice": `"required"`, "stream_options": ""},
		"groq/openai/gpt-oss-120b":         {"max_completion_tokens": "9", "max_tokens": ""},
		"xai/grok-4":                       {"max_completion_tokens": "9", "max_tokens": "", "stop": ""},
		"moonshot/kimi-k2.6":               {"tool_choice": "", "prompt_cache_key": `"s"`},
		"zai/glm-4.6":                      {"tool_choice": "", "response_format": `{"type":"json_object"}`},
		"minimax/MiniMax-M2":               {"tool_choice": "", "response_format": "", "reasoning_split": "true"},
		"together_ai/some/model":           {"max_tokens": "9", "prompt_cache_key": "", "tool_choice": `"required"`},
		"fireworks_ai/accounts/f/models":   {"max_tokens": "9", "prompt_cache_key": "", "tool_choice": `"required"`},
		"lm_studio/any":                    {"max_tokens": "9", "tool_choice": `"required"`, "response_format.type": `"json_schema"`},
		"vllm/any":                         {"max_tokens": "9", "tool_choice": `"required"`},
		"llama_cpp/any":                    {"max_tokens": "9", "tool_choice": `"required"`},
		"litellm_proxy/gpt-5.2":            {"max_tokens": "9", "prompt_cache_key": "", "temperature": "", "stop": ""},
		"azure/gpt-5.2":                    {"max_completion_tokens": "9", "prompt_cache_key": `"s"`, "prompt_cache_retention": "", "temperature": ""},
		"openai/gpt-5.2":                   {"max_completion_tokens": "9", "prompt_cache_key": `"s"`, "prompt_cache_retention": `"24h"`},
		"openai_compatible/never/heard.of": {"max_tokens": "9", "tool_choice": `"required"`, "temperature": "0.5"},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			c := serveAs(t, model, delta(`"content":"a"`), finished)
			half := 0.5
			r := hi()
			r.Session, r.MaxOutputTokens, r.Temperature, r.Stop, r.ToolChoice, r.Schema = "s", 9, &half, []string{"X"}, "required", []byte(`{"type":"object"}`)
			r.Tools = []llm.Tool{{Name: "x", Parameters: []byte(`{"type":"object"}`)}}
			c.must(t, r)
			for path, raw := range want {
				if got := gjson.Get(c.body, path).Raw; got != raw {
					t.Errorf("%s is %s, want %s in %s", path, got, raw, c.body)
				}
			}
			if q := gjson.Get(c.body, "response_format.json_schema"); q.Exists() == strings.Contains(c.body, "one JSON object of this JSON schema") {
				t.Errorf("the schema is said twice or never: %s", c.body)
			}
			if r.Messages[0].Content[0].Text != "hi" || len(r.Messages[0].Content) != 1 {
				t.Error("the request was changed")
			}
		})
	}
}

// TestMissingReasoning continues a conversation of a model without reasoning
// with one that requires it for every turn with calls.
func TestMissingReasoning(t *testing.T) {
	t.Parallel()
	r := hi()
	r.Messages = append(r.Messages, event.Message{Role: event.RoleAssistant, ToolCalls: []event.ToolCall{{ID: "c1", Name: "x"}}})
	for model, want := range map[string]bool{"moonshot/kimi-k2.6": true, "deepseek/deepseek-v4-pro": true, "deepseek/deepseek-chat": false, "openai/gpt-4o": false} {
		c := serveAs(t, model, delta(`"content":"a"`), finished)
		c.must(t, r)
		if got := gjson.Get(c.body, "messages.1.reasoning_content").Str != ""; got != want {
			t.Errorf("%s was sent %s", model, c.body)
		}
	}
}

func TestInlineImages(t *testing.T) {
	t.Parallel()
	const remote, inline = "https://example.com/a.png", "data:image/png;base64,AA=="
	for model, want := range map[string]int{"moonshot/kimi-k2.6": 1, "openai/gpt-4o": 2} {
		c := serveAs(t, model, delta(`"content":"a"`), finished)
		c.must(t, llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.List[event.Content]{event.Text("look"), event.Image(remote, inline)}}}})
		if got := strings.Count(c.body, `"type":"image_url"`); got != want || want == 1 && strings.Contains(c.body, remote) {
			t.Errorf("%s was sent %s", model, c.body)
		}
	}
}

func TestShortIDs(t *testing.T) {
	t.Parallel()
	c := serveAs(t, "mistral/mistral-large-latest", delta(`"content":"a"`), finished)
	r := hi()
	for i, id := range []string{"toolu_01", "toolu_02", "abcDEF123"} {
		r.Messages = append(r.Messages,
			event.Message{Role: event.RoleAssistant, ToolCalls: []event.ToolCall{{ID: id, Name: "x"}}},
			event.Message{Role: event.RoleTool, ToolCallID: id, Content: event.Texts(fmt.Sprint(i))})
	}
	c.must(t, r)
	seen := map[string]bool{}
	for i := range 3 {
		call, result := gjson.Get(c.body, fmt.Sprintf("messages.%d.tool_calls.0.id", 2*i+1)).Str, gjson.Get(c.body, fmt.Sprintf("messages.%d.tool_call_id", 2*i+2)).Str
		if len(call) != 9 || call != result || seen[call] || strings.ContainsAny(call, "_-") {
			t.Errorf("call %q, result %q", call, result)
		}
		seen[call] = true
	}
	if !seen["abcDEF123"] {
		t.Errorf("a good id was changed: %v", seen)
	}
}
