package route_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]struct {
		wire     string
		protocol llmtest.Protocol
		provider string
	}{
		"openai/gpt-4o":                    {"gpt-4o", llmtest.OpenAIChat, "openai"},
		"gpt-4o":                           {"gpt-4o", llmtest.OpenAIChat, "openai_compatible"},
		"anthropic/claude-sonnet-4-5":      {"claude-sonnet-4-5", llmtest.Anthropic, "anthropic"},
		"litellm_proxy/anthropic/claude":   {"anthropic/claude", llmtest.OpenAIChat, "litellm_proxy"},
		"openhands/claude-sonnet-4-5":      {"claude-sonnet-4-5", llmtest.OpenAIChat, "openhands"},
		"openrouter/qwen/qwen3-coder:free": {"qwen/qwen3-coder:free", llmtest.OpenAIChat, "openrouter"},
		"hosted_vllm/Qwen/Qwen3-32B":       {"Qwen/Qwen3-32B", llmtest.OpenAIChat, "vllm"},
		"lm_studio/llama3.2:3b":            {"llama3.2:3b", llmtest.OpenAIChat, "lm_studio"},
		"some-org/unheard-of":              {"some-org/unheard-of", llmtest.OpenAIChat, "openai_compatible"},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Reply: llmtest.Reply{Text: "x"}}}})
			m, err := route.New(llm.Config{Model: model, BaseURL: srv.URL + "/v1", APIKey: "k"})
			must.Succeed(t, err)
			msgs := []event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}
			if _, err := llm.Complete(t.Context(), m, llm.Request{Messages: msgs}, nil); err != nil {
				t.Fatal(err)
			}
			req := srv.Requests()[0]
			if req.Model != want.wire || req.Protocol != want.protocol || m.Info().Provider != want.provider || m.Info().Name != model {
				t.Errorf("model %q over %s of %s (%s), want %+v", req.Model, req.Protocol, m.Info().Provider, m.Info().Name, want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]struct {
		kind fault.Kind
		hint string
	}{
		"":                       {fault.Invalid, "LLM_MODEL"},
		"openai/":                {fault.Invalid, ""},
		"claude-sonet-4-5":       {fault.Invalid, "claude-sonnet-4-5"},
		"nobody/knows-this-one":  {fault.Invalid, "--base-url"},
		"sagemaker/anything":     {fault.Unsupported, "anthropic/"},
		"litellm_proxy/whatever": {fault.Invalid, "--base-url"},
	} {
		_, err := route.New(llm.Config{Model: model})
		if fault.KindOf(err) != want.kind || !strings.Contains(fault.HintOf(err), want.hint) {
			t.Errorf("model %q: %s %v, hint %q", model, fault.KindOf(err), err, fault.HintOf(err))
		}
	}
}

func TestBareNames(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"claude-opus-4-5": "anthropic", "gpt-5.2": "openai", "deepseek-chat": "deepseek", "kimi-k2-thinking": "moonshot", "glm-4.6": "zai",
		"gemini-2.5-pro": "gemini",
	} {
		m, err := route.New(llm.Config{Model: model})
		if err != nil || m.Info().Provider != want || !m.Info().Price.Known {
			t.Errorf("model %s: %v, want %s", model, err, want)
		}
	}
}

func TestKeyVariables(t *testing.T) {
	t.Parallel()
	for model, want := range map[string][]string{
		"gpt-4o": {"OPENAI_API_KEY"}, "anthropic/x": {"ANTHROPIC_API_KEY"}, "ollama/x": nil, "what": nil,
		"together_ai/x": {"TOGETHERAI_API_KEY", "TOGETHER_API_KEY"},
	} {
		if diff := cmp.Diff(want, route.KeyVariables(model)); diff != "" {
			t.Errorf("KeyVariables(%q): %s", model, diff)
		}
	}
}
