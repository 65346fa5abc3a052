package openai_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
	"github.com/deft-dev/deft/llm/openai"
)

func TestConformance(t *testing.T) {
	for _, model := range []string{"openai/gpt-4o", "openai/gpt-5.2", "azure/gpt-4o", "litellm_proxy/claude-sonnet-4-5", "openrouter/openai/gpt-4o", "mistral/mistral-large-latest"} {
		var skip []string
		if strings.HasPrefix(model, "mistral/") {
			// Mistral sends usage unasked, the scripted server does not.
			skip = []string{"usage and cost", "nothing", "empty answer with a usage"}
		}
		t.Run(model, func(t *testing.T) {
			modeltest.Run(t, modeltest.Adapter{
				Protocol: llmtest.OpenAIChat, Model: model, Path: "/v1", Skip: skip,
				New: func(c llm.Config) (llm.Model, error) {
					c.Provider, _, _ = strings.Cut(model, "/")
					return openai.New(c)
				},
			})
		})
	}
}
