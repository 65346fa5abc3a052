package anthropic_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/modeltest"
)

func TestConformance(t *testing.T) {
	for _, model := range []string{"anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-6", "anthropic/claude-3-5-haiku"} {
		t.Run(model, func(t *testing.T) {
			modeltest.Run(t, modeltest.Adapter{
				Protocol: llmtest.Anthropic, Model: model, Signed: true,
				New: func(c llm.Config) (llm.Model, error) { return anthropic.New(c) },
			})
		})
	}
}
