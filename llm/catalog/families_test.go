package catalog_test

import (
	"testing"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
)

func TestModelsNewerThanTheCatalogue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		provider  string
		reasoning bool
		fixed     bool // temperature
		cacheKey  bool
	}{
		"gpt-5.9":                  {"openai", true, true, true},
		"openai/gpt-7-nova":        {"litellm_proxy", true, true, false},
		"gpt-5-chat-latest":        {"openai", false, false, false},
		"o9-mini":                  {"openai", true, true, true},
		"gpt-4.9":                  {"openai", false, false, false},
		"anthropic/claude-opus-6":  {"openrouter", true, true, false},
		"claude-2.1":               {"anthropic", false, false, false},
		"orca-3":                   {"vllm", false, false, false},
		"gpt-50":                   {"openai", false, false, false},
		"my-gpt-6":                 {"vllm", false, false, false},
		"someone/finetuned/gpt-6x": {"vllm", true, true, false},
	} {
		info, quirks := catalog.Default().Describe(llm.Config{Model: name}, tt.provider)
		if info.Reasoning != tt.reasoning || quirks.NoSampling != tt.fixed || quirks.PromptCacheKey != tt.cacheKey {
			t.Errorf("%s: %+v, %+v", name, info, quirks)
		}
		if info.Price.Known || info.ContextWindow != 0 || info.MaxOutput != 0 {
			t.Errorf("%s: sizes or a price are guessed: %+v", name, info)
		}
	}
}
