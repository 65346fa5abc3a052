package responses_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
	"github.com/deft-dev/deft/llm/responses"
)

func TestConformance(t *testing.T) {
	for model, provider := range map[string]string{"openai/gpt-5.2": "openai", "openai/gpt-4o": "openai", "azure/gpt-5.2": "azure"} {
		t.Run(model, func(t *testing.T) {
			modeltest.Run(t, modeltest.Adapter{
				Protocol: llmtest.OpenAIResponses, Model: model, Path: "/v1",
				New: func(c llm.Config) (llm.Model, error) {
					c.Provider = provider
					return responses.New(c)
				},
			})
		})
	}
}
