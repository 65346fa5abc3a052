package route

import (
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
)

// TestUsual takes a model of any provider by its key alone. The catalogue knows most of them, with a price. Where more
// than a key is needed, it says what.
func TestUsual(t *testing.T) {
	t.Parallel()
	with := func(set ...string) func(string) string {
		return func(v string) string {
			if slices.Contains(set, v) {
				return "x"
			}
			return ""
		}
	}
	tried := 0
	for _, p := range providers {
		for _, name := range slices.Concat(p.keys, p.tokens) {
			if name == proxyKey {
				continue
			}
			tried++
			got := Usual(with(name))
			if p.usual == "" || len(p.places) > 0 {
				if got.Model != "" || !strings.HasPrefix(got.Missing, name+" is set; with it set ") {
					t.Errorf("%s alone: %+v", name, got)
				}
				if p.usual == "" {
					continue
				}
				got = Usual(with(name, p.places[0]))
			}
			found, _, err := Router{}.find(llm.Config{Model: got.Model})
			e, known := catalog.Default().Lookup(got.Model)
			if err != nil || found.name != p.name || got.Variable != name || len(p.tokens) == 0 && (!known || !e.Tools) {
				t.Errorf("%s of %s: %+v, %v, known %v: %+v", name, p.name, got, err, known, e)
			}
		}
	}
	if tried < 24 {
		t.Errorf("%d keys", tried)
	}
	for name, c := range map[string]struct {
		set  []string
		want Choice
	}{
		"nothing":               {nil, Choice{}},
		"the first provider":    {[]string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}, Choice{Model: "anthropic/claude-sonnet-5-5", Variable: "ANTHROPIC_API_KEY"}},
		"after one that lacks":  {[]string{"AZURE_API_KEY", "GROQ_API_KEY"}, Choice{Model: "groq/openai/gpt-oss-120b", Variable: "GROQ_API_KEY"}},
		"Azure":                 {[]string{"AZURE_API_KEY"}, Choice{Missing: "AZURE_API_KEY is set; with it set LLM_MODEL=azure/DEPLOYMENT and AZURE_API_BASE"}},
		"Azure with address":    {[]string{"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"}, Choice{Missing: "AZURE_OPENAI_API_KEY is set; with it set LLM_MODEL=azure/DEPLOYMENT"}},
		"a proxy's":             {[]string{proxyKey}, Choice{Missing: "LITELLM_API_KEY is set; with it set LLM_MODEL=litellm_proxy/NAME and LITELLM_PROXY_API_BASE"}},
		"one's own server":      {[]string{"HOSTED_VLLM_API_KEY"}, Choice{Missing: "HOSTED_VLLM_API_KEY is set; with it set LLM_MODEL=hosted_vllm/NAME"}},
		"Amazon without region": {[]string{"AWS_BEARER_TOKEN_BEDROCK"}, Choice{Missing: "AWS_BEARER_TOKEN_BEDROCK is set; with it set AWS_REGION"}},
	} {
		if got := Usual(with(c.set...)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
