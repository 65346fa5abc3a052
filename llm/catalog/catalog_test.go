package catalog_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
)

func TestEmbeddedDataLoads(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	if len(c.Names()) < 60 || c.Source == "" || c.Date != "2026-11-21" {
		t.Fatalf("%d models, source %q, date %q", len(c.Names()), c.Source, c.Date)
	}
	for _, n := range c.Names() {
		e, ok := c.Lookup(n)
		if !ok || e.Provider == "" || e.Context == 0 || e.MaxOutput > e.Context {
			t.Errorf("model %s: found %v, %+v", n, ok, e)
		}
		if p := e.Price; p != nil && (p.Input <= 0 || p.Output < p.Input || p.CacheRead > p.Input || p.CacheWrite < p.CacheRead) {
			t.Errorf("model %s: odd price %+v", n, *p)
		} else if p != nil {
			for _, tier := range p.Tiers {
				if tier.Above >= e.Context || tier.Input < p.Input || tier.Output < p.Output || tier.CacheRead > tier.Input {
					t.Errorf("model %s: odd price of long prompts %+v", n, tier)
				}
			}
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"gpt-4o":                                   "gpt-4o",
		"openai/gpt-4o-2024-11-20":                 "gpt-4o",
		"anthropic/claude-sonnet-4-5-20250929":     "claude-sonnet-4-5",
		"openrouter/anthropic/claude-sonnet-4.5":   "claude-sonnet-4-5",
		"litellm_proxy/claude-3-7-sonnet-20250219": "claude-3-7-sonnet",
		"claude-sonnet-4-20250514":                 "claude-sonnet-4",
		"moonshot/kimi-k2-0905-preview":            "kimi-k2-0905-preview",
		"grok-4-0709":                              "grok-4",
		"deepseek/deepseek-chat:free":              "deepseek-chat",
		"vllm/Qwen/Qwen3-32B":                      "qwen3-32b",
		"no-such-model":                            "",
		"":                                         "",
		"///":                                      "",
	} {
		if e, ok := catalog.Default().Lookup(in); e.Name != want || ok != (want != "") {
			t.Errorf("Lookup(%q) = %q %v, want %q", in, e.Name, ok, want)
		}
	}
}

// TestHosts checks that prices and context windows depend on the provider, and
// quirks on the model.
func TestHosts(t *testing.T) {
	t.Parallel()
	for model, tt := range map[string]struct {
		provider string
		input    float64
		window   int
		echo     bool
	}{
		"groq/openai/gpt-oss-120b":                       {"groq", 0.15, 131_072, false},
		"together_ai/moonshotai/Kimi-K3":                 {"together_ai", 3, 1_048_576, true},
		"fireworks_ai/accounts/fireworks/models/glm-5p3": {"fireworks_ai", 1.4, 1_048_576, false},
		"fireworks_ai/kimi-k3":                           {"fireworks_ai", 3, 1_048_576, true},
		"bedrock/us.nova-2-lite-v1:0":                    {"amazon", 0.33, 1_000_000, false},
		"openai/gpt-5.5-pro":                             {"openai", 30, 1_050_000, false},
	} {
		wire := strings.TrimPrefix(model, "bedrock/")
		i, _ := catalog.Default().Describe(llm.Config{Model: model, WireModel: strings.TrimPrefix(wire, tt.provider+"/")}, tt.provider)
		if !i.Price.Known || i.Price.Input != tt.input || i.ContextWindow != tt.window || !i.Tools || i.MustEcho.ReasoningContent != tt.echo {
			t.Errorf("%s: %+v", model, i)
		}
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	if got := catalog.Default().Near("anthropic/claude-sonet-4-5"); !slices.Contains(got, "claude-sonnet-4-5") || len(got) > 3 {
		t.Errorf("Near = %v", got)
	}
	if got := catalog.Default().Near("zzzzzzzzzzzz"); len(got) != 0 {
		t.Errorf("Near of nothing = %v", got)
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	write := func(s string) string {
		path := filepath.Join(t.TempDir(), "models.json")
		must.Succeed(t, os.WriteFile(path, []byte(s), 0o600))
		return path
	}
	c, err := catalog.Default().Override(write(`{"models":[{"name":"gpt-4o","provider":"openai","context":7},{"name":"mine","provider":"vllm"}]}`))
	must.Succeed(t, err)
	if e, _ := c.Lookup("gpt-4o"); e.Context != 7 {
		t.Errorf("override not taken: %+v", e)
	}
	if _, ok := c.Lookup("vllm/mine"); !ok {
		t.Error("new model not found")
	}
	if e, _ := catalog.Default().Lookup("gpt-4o"); e.Context == 7 {
		t.Error("the embedded catalogue was changed")
	}
	for _, bad := range []string{`{`, `{"models":[{"name":""}]}`, `{"models":[{"name":"x","contxt":3}]}`, `{"models":[{"name":"x","price":{"input":-1}}]}`} {
		if _, err := catalog.Default().Override(write(bad)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("Override of %s: %v", bad, err)
		}
	}
	if _, err := catalog.Default().Override(filepath.Join(t.TempDir(), "none")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("missing file: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	info, q := c.Describe(llm.Config{Model: "openai/gpt-5"}, "openai")
	if !info.Price.Known || q.MaxTokensField != "max_completion_tokens" || !q.NoSampling || !q.PromptCacheKey || info.Name != "openai/gpt-5" {
		t.Errorf("gpt-5: %+v %+v", info, q)
	}
	if info, q := c.Describe(llm.Config{Model: "groq/gpt-oss-120b"}, "groq"); info.Price.Known || q.PromptCacheKey {
		t.Errorf("another provider's price is taken: %+v %+v", info, q)
	}
	if info, _ := c.Describe(llm.Config{Model: "ollama/qwen3-32b"}, "ollama"); !info.Price.Known {
		t.Error("a local model is not free")
	}
	if info, _ := c.Describe(llm.Config{Model: "x/unknown", Info: llm.Info{ContextWindow: 5}}, "x"); info.ContextWindow != 5 || !info.Tools || info.Price.Known {
		t.Errorf("unknown model: %+v", info)
	}
	if info, _ := c.Describe(llm.Config{Model: "deepseek/deepseek-reasoner"}, "deepseek"); !info.MustEcho.ReasoningContent {
		t.Errorf("deepseek-reasoner: %+v", info)
	}
}

func FuzzLookup(f *testing.F) {
	f.Add("openrouter/anthropic/claude-sonnet-4.5:beta")
	f.Add("-2025-01-01")
	f.Fuzz(func(t *testing.T, name string) {
		c := catalog.Default()
		if _, ok := c.Lookup(name); !ok {
			c.Near(name)
		}
	})
}
