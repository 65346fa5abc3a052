package route_test

import (
	"testing"

	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/route"
)

// TestUsual takes a model that the catalogue knows, with a price and tools, by the key alone.
func TestUsual(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY", "DEEPSEEK_API_KEY", "MOONSHOT_API_KEY",
		"ZAI_API_KEY", "MINIMAX_API_KEY",
	} {
		model, variable := route.Usual(func(v string) string {
			if v == name {
				return "key"
			}
			return ""
		})
		e, known := catalog.Default().Lookup(model)
		if variable != name || !known || !e.Tools {
			t.Errorf("%s: %s by %s, known %v", name, model, variable, known)
		}
	}
	if model, _ := route.Usual(func(string) string { return "" }); model != "" {
		t.Errorf("%s without a key", model)
	}
}
