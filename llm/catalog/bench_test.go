package catalog_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/llm/catalog"
)

// BenchmarkLoad reads a user's catalogue of 3,400 models, as many as LiteLLM
// lists.
func BenchmarkLoad(b *testing.B) {
	var list strings.Builder
	list.WriteString("{")
	for i := range 3_400 {
		fmt.Fprintf(&list, `"p%d/model-%d": {"litellm_provider": "p%d", "mode": "chat", "max_input_tokens": 128000, "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},`, i%50, i, i%50)
	}
	conv, err := catalog.Default().FromLiteLLM([]byte(strings.TrimSuffix(list.String(), ",")+"}"), "a benchmark", "2026-11-21")
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "models.json")
	if err := catalog.Save(path, conv.Data); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := catalog.Load(path); err != nil {
			b.Fatal(err)
		}
	}
}
