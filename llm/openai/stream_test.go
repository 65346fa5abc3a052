package openai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/openai"
)

// serve answers each request with a stream of the given chunks.
func serve(t testing.TB, h http.HandlerFunc) *openai.Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	m, err := openai.New(llm.Config{Model: "vllm/some-model", Provider: "vllm", BaseURL: srv.URL + "/v1"})
	must.Succeed(t, err)
	return m
}

func stream(chunks ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range chunks {
			fmt.Fprintf(w, "data: %s\n\n", c)
		}
	}
}

func delta(fields string) string {
	return `{"id":"1","choices":[{"index":0,"delta":{` + fields + `}}]}`
}

const finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

func hi() llm.Request {
	return llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}}
}

// TestServerDifferences checks differences of compatible servers.
func TestServerDifferences(t *testing.T) {
	t.Parallel()
	type call struct{ Name, Arguments string }
	tests := map[string]struct {
		chunks    []string
		text      string
		reasoning string
		calls     []call
		finish    llm.Finish
		usage     llm.Usage
	}{
		"no end mark": {chunks: []string{delta(`"content":"a"`), finished}, text: "a"},
		"reasoning under another name": {
			chunks: []string{delta(`"reasoning":"hm"`), delta(`"reasoning":null,"content":"a"`), finished, "[DONE]"}, text: "a", reasoning: "hm",
		},
		"reasoning under both names": {
			chunks: []string{delta(`"reasoning":"hm","reasoning_content":"hm"`), delta(`"content":"a"`), finished}, text: "a", reasoning: "hm",
		},
		"reasoning in tags": {
			chunks: []string{delta(`"content":"<thi"`), delta(`"content":"nk>h"`), delta(`"content":"m</think>\n"`), delta(`"content":"\na"`), finished}, text: "a", reasoning: "hm",
		},
		"reasoning in tags alone": {chunks: []string{delta(`"content":"<think>hm"`), finished}, reasoning: "hm"},
		"content in parts": {
			chunks: []string{delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]`), delta(`"content":[{"type":"text","text":"a"}]`), finished},
			text:   "a", reasoning: "hm",
		},
		"refusal": {chunks: []string{delta(`"refusal":"I "`), delta(`"refusal":"won't"`), finished}, text: "I won't", finish: llm.FinishContent},
		"interleaved calls": {
			chunks: []string{
				delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":""}},{"index":1,"id":"b","function":{"name":"y"}}]`),
				delta(`"tool_calls":[{"index":1,"function":{"arguments":"{\"q\""}}]`), delta(`"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]`),
				delta(`"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]`), finished,
			},
			calls: []call{{"x", "{}"}, {"y", `{"q":1}`}}, finish: llm.FinishTools,
		},
		"every call has index 0": {
			chunks: []string{
				delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]`),
				delta(`"tool_calls":[{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}]`), finished,
			},
			calls: []call{{"x", "{}"}, {"y", "{}"}}, finish: llm.FinishTools,
		},
		"index 0 and no ids": {
			chunks: []string{
				delta(`"tool_calls":[{"index":0,"id":"","function":{"name":"x","arguments":"{\"a\":"}}]`), delta(`"tool_calls":[{"index":0,"id":"","function":{"name":"x","arguments":"1}"}}]`),
				delta(`"tool_calls":[{"index":0,"id":"","function":{"name":"x","arguments":"{\"a\":2}"}}]`),
				delta(`"tool_calls":[{"index":0,"id":"","function":{"name":"y","arguments":"{}"}}]`), finished,
			},
			calls: []call{{"x", `{"a":1}`}, {"x", `{"a":2}`}, {"y", "{}"}}, finish: llm.FinishTools,
		},
		"index 0 and one id": {
			chunks: []string{
				delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]`),
				delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"y","arguments":"{}"}}]`), finished,
			},
			calls: []call{{"x", "{}"}, {"y", "{}"}}, finish: llm.FinishTools,
		},
		"the whole call again at the end": {
			chunks: []string{
				delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a\":1}"}}]`),
				delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a\":1}"}}]`), finished,
			},
			calls: []call{{"x", `{"a":1}`}}, finish: llm.FinishTools,
		},
		"no index, no ids": {
			chunks: []string{
				delta(`"tool_calls":[{"function":{"name":"x","arguments":"{\"a\":"}}]`), delta(`"tool_calls":[{"function":{"arguments":"1}"}}]`),
				delta(`"tool_calls":[{"function":{"name":"y","arguments":"{}"}}]`), finished,
			},
			calls: []call{{"x", `{"a":1}`}, {"y", "{}"}}, finish: llm.FinishTools,
		},
		"id and name repeated in each piece": {
			chunks: []string{
				delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a\":"}}]`),
				delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"1}"}}]`), finished,
			},
			calls: []call{{"x", `{"a":1}`}}, finish: llm.FinishTools,
		},
		"arguments as an object": {
			chunks: []string{delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":{"a": 1}}}]`), finished},
			calls:  []call{{"x", `{"a": 1}`}}, finish: llm.FinishTools,
		},
		"half arguments cut by the limit": {
			chunks: []string{delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a"}}]`), `{"choices":[{"delta":{},"finish_reason":"length"}]}`},
			calls:  []call{{"x", `{"a`}}, finish: llm.FinishLength,
		},
		"usage of DeepSeek": {
			chunks: []string{delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":4}}`},
			text:   "a", usage: llm.Usage{Prompt: 10, Output: 2, CacheRead: 4},
		},
		"usage inside the choice": {
			chunks: []string{delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":4}}]}`},
			text:   "a", usage: llm.Usage{Prompt: 10, Output: 2, CacheRead: 4},
		},
		"numbers that cannot be": {
			chunks: []string{delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":99}}}`},
			text:   "a", usage: llm.Usage{Output: 2},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := llm.Complete(t.Context(), serve(t, stream(tt.chunks...)), hi(), nil)
			must.Succeed(t, err)
			var calls []call
			ids := map[string]bool{}
			for _, c := range resp.Message.ToolCalls {
				calls = append(calls, call{c.Name, c.Arguments})
				ids[c.ID] = true
			}
			if tt.finish == "" {
				tt.finish = llm.FinishStop
			}
			if text := event.JoinText(resp.Message.Content); text != tt.text || resp.Message.ReasoningContent != tt.reasoning || resp.Finish != tt.finish || resp.Usage != tt.usage {
				t.Errorf("text %q, reasoning %q, finish %s, usage %+v", text, resp.Message.ReasoningContent, resp.Finish, resp.Usage)
			}
			if diff := cmp.Diff(tt.calls, calls); diff != "" || len(ids) != len(calls) || ids[""] {
				t.Errorf("ids %v, calls (-want +got):\n%s", ids, diff)
			}
			if resp.CostKnown {
				t.Error("a cost is claimed without a price")
			}
		})
	}
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		chunks []string
		kind   fault.Kind
		code   string
	}{
		"end mark without a reason":   {[]string{delta(`"content":"a"`), "[DONE]"}, fault.Unavailable, llm.CodeTruncated},
		"nothing at all":              {nil, fault.Unavailable, llm.CodeTruncated},
		"the provider broke off":      {[]string{delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"error"}]}`}, fault.Unavailable, llm.CodeTruncated},
		"only a reason":               {[]string{finished}, fault.Unavailable, llm.CodeEmpty},
		"error of another provider":   {[]string{`{"error":{"code":429,"message":"slow down","metadata":{"raw":"upstream"}}}`}, fault.RateLimit, ""},
		"error as a sentence":         {[]string{`{"error":"model requires more system memory"}`}, fault.Unavailable, ""},
		"context error in the stream": {[]string{`{"error":{"message":"prompt is too long","type":"server_error"}}`}, fault.Context, "server_error"},
		"not an object":               {[]string{`[1,2]`}, fault.Unavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := llm.Complete(t.Context(), serve(t, stream(tt.chunks...)), hi(), nil)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || fault.KindOf(err) != tt.kind || e.Code != tt.code {
				t.Errorf("error %v (%+v)", err, e)
			}
		})
	}
}

func TestBilledCost(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"header of a LiteLLM proxy": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Litellm-Response-Cost", "0.0125")
			stream(delta(`"content":"a"`), finished)(w, r)
		},
		"usage of OpenRouter": stream(delta(`"content":"a"`), finished, `{"choices":[],"usage":{"prompt_tokens":1,"cost":0.0125}}`),
	} {
		resp, err := llm.Complete(t.Context(), serve(t, h), hi(), nil)
		if err != nil || !resp.CostKnown || resp.Cost != 0.0125 {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}

// TestWire checks a whole request body.
func TestWire(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"openai/gpt-5.2":            `{"model":"gpt-5.2","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":100,"reasoning_effort":"xhigh","prompt_cache_key":"c1","prompt_cache_retention":"24h","messages":[{"role":"system","content":"sys"},{"role":"user","content":"hi"}]}`,
		"openai/gpt-4o":             `{"model":"gpt-4o","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":100,"temperature":0,"stop":["X"],"prompt_cache_key":"c1","messages":[{"role":"system","content":"sys"},{"role":"user","content":"hi"}]}`,
		"deepseek/deepseek-chat":    `{"model":"deepseek-chat","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,"temperature":0,"stop":["X"],"messages":[{"role":"system","content":"sys"},{"role":"user","content":"hi"}]}`,
		"openhands/claude-opus-4-5": `{"model":"claude-opus-4-5","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,"stop":["X"],"reasoning_effort":"high","messages":[{"role":"system","content":[{"type":"text","text":"sys","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"hi"}]}`,
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			var body []byte
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				if got := r.Header.Get("Authorization"); got != "Bearer k" {
					t.Errorf("authorization %q", got)
				}
				stream(delta(`"content":"a"`), finished)(w, r)
			}))
			t.Cleanup(srv.Close)
			provider, _, _ := strings.Cut(model, "/")
			m, err := openai.New(llm.Config{Model: model, Provider: provider, BaseURL: srv.URL, APIKey: "k"})
			must.Succeed(t, err)
			zero := 0.0
			r := hi()
			sys := event.Text("sys")
			sys.CachePrompt = true
			r.Messages = append([]event.Message{{Role: event.RoleSystem, Content: event.List[event.Content]{sys}}}, r.Messages...)
			r.Session, r.Temperature, r.Stop, r.MaxOutputTokens, r.ReasoningEffort = "c1", &zero, []string{"X"}, 100, "xhigh"
			if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEnvironmentIsNotSent checks that keys and addresses in the environment
// are not used.
func TestEnvironmentIsNotSent(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://192.0.2.1:1")
	t.Setenv("OPENAI_ORG_ID", "org-of-the-environment")
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), "of-the-environment") {
				t.Errorf("header %s is %v", name, values)
			}
		}
		stream(delta(`"content":"a"`), finished)(w, r)
	})
	if _, err := llm.Complete(t.Context(), m, hi(), nil); err != nil {
		t.Fatal(err)
	}
}
