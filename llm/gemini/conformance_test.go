package gemini_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/gemini"
	"github.com/deft-dev/deft/llm/modeltest"
)

func TestConformance(t *testing.T) {
	for _, model := range []string{"gemini/gemini-2.5-pro", "gemini/gemini-3-pro-preview"} {
		t.Run(model, func(t *testing.T) {
			modeltest.Run(t, modeltest.Adapter{
				Protocol: llmtest.Gemini, Model: model, Path: "/v1beta",
				New: func(c llm.Config) (llm.Model, error) { return gemini.New(c) },
			})
		})
	}
}

// TestVertexConformance runs the same suite over Vertex's address and token.
func TestVertexConformance(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"VERTEXAI_PROJECT": "p", "VERTEXAI_LOCATION": "us-central1"}[name]
	}
	modeltest.Run(t, modeltest.Adapter{
		Protocol: llmtest.Gemini, Model: "vertex_ai/gemini-2.5-flash",
		New: func(c llm.Config) (llm.Model, error) {
			if c.APIKey == "" {
				c.APIKey = "token"
			}
			return gemini.NewVertex(c, env)
		},
	})
}
