package modeltest_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/gemini"
	"github.com/deft-dev/deft/llm/modeltest"
	"github.com/deft-dev/deft/llm/openai"
	"github.com/deft-dev/deft/llm/responses"
)

func chat(provider, model string) modeltest.Adapter {
	return modeltest.Adapter{Protocol: llmtest.OpenAIChat, Model: model, Path: "/v1", New: func(c llm.Config) (llm.Model, error) {
		c.Provider = provider
		return openai.New(c)
	}}
}

func native(protocol llmtest.Protocol, model, path string, make func(llm.Config) (llm.Model, error)) modeltest.Adapter {
	return modeltest.Adapter{Protocol: protocol, Model: model, Path: path, New: make}
}

var adapters = map[string]modeltest.Adapter{
	"openai":     chat("openai", "openai/gpt-4o"),
	"deepseek":   chat("deepseek", "deepseek/deepseek-reasoner"),
	"mistral":    chat("mistral", "mistral/mistral-large-latest"),
	"openrouter": chat("openrouter", "openrouter/anthropic/claude-sonnet-4.5"),
	"litellm":    chat("litellm_proxy", "litellm_proxy/claude-sonnet-4-5"),
	"responses":  native(llmtest.OpenAIResponses, "openai/gpt-5.2", "/v1", func(c llm.Config) (llm.Model, error) { return responses.New(c) }),
	"anthropic":  native(llmtest.Anthropic, "anthropic/claude-sonnet-4-5", "", func(c llm.Config) (llm.Model, error) { return anthropic.New(c) }),
	"adaptive":   native(llmtest.Anthropic, "anthropic/claude-opus-4-6", "", func(c llm.Config) (llm.Model, error) { return anthropic.New(c) }),
	"gemini":     native(llmtest.Gemini, "gemini/gemini-2.5-pro", "/v1beta", func(c llm.Config) (llm.Model, error) { return gemini.New(c) }),
	"gemini 3":   native(llmtest.Gemini, "gemini/gemini-3-pro-preview", "/v1beta", func(c llm.Config) (llm.Model, error) { return gemini.New(c) }),
}

// signers says whose signatures an adapter takes: none without an entry.
var signers = map[string]string{
	"anthropic": "claude", "adaptive": "claude", "litellm": "claude", "gemini": "google", "gemini 3": "google",
	"responses": "openai", "openrouter": "openrouter", "openrouter's details": "openrouter",
}

// TestSwitch changes the provider in the middle of a conversation, for every
// ordered pair of providers.
func TestSwitch(t *testing.T) {
	t.Parallel()
	histories := map[string][]event.Message{"openrouter's details": modeltest.Details()}
	for name, a := range adapters {
		histories[name] = modeltest.History(t, a)
	}
	for _, from := range []string{"anthropic", "adaptive", "gemini", "gemini 3", "responses", "openrouter's details"} {
		if len(modeltest.Secrets(histories[from])) == 0 {
			t.Errorf("%s signs nothing", from)
		}
	}
	for from, history := range histories {
		for to, a := range adapters {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				modeltest.SwitchProvider(t, a, history, signers[from] == signers[to] || signers[from] == "claude" && to == "openrouter")
			})
		}
	}
}
