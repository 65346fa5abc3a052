package launch_test

import (
	"testing"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/launch"
)

// BenchmarkLaunch is the cost of a start request with an agent here: reading it,
// and writing it for the answer.
func BenchmarkLaunch(b *testing.B) {
	raw := []byte(`{"kind":"Agent","llm":{"model":"openai/gpt-5","api_key":"k","stream":true},"tools":[{"name":"terminal"},{"name":"file_editor"},{"name":"task_tracker"}],
		"condenser":{"kind":"LLMSummarizingCondenser","llm":{"model":"openai/gpt-5","api_key":"k"}},"agent_context":{"skills":[{"name":"a","content":"c"}]}}`)
	for b.Loop() {
		var doc schema.Map
		if err := doc.UnmarshalJSON(raw); err != nil {
			b.Fatal(err)
		}
		r, err := launch.Resolve(b.Context(), launch.Source{Agent: &doc}, nil)
		if err != nil {
			b.Fatal(err)
		}
		a, err := launch.Finalize(r, launch.Runtime{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := a.JSON(schema.Writing{Mode: schema.Nulled}); err != nil {
			b.Fatal(err)
		}
	}
}
