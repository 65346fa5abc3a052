package catalog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
)

// list has the forms that LiteLLM's price list uses.
const list = `{
  "sample_spec": {"mode": "one of: chat, embedding", "max_tokens": "LEGACY parameter"},
  "gpt-4o": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 128000, "max_output_tokens": 16384, "input_cost_per_token": 3e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1.5e-06, "supports_vision": true, "supports_function_calling": true},
  "gpt-9": {"litellm_provider": "openai", "mode": "responses", "max_input_tokens": 900000, "max_output_tokens": 128000, "input_cost_per_token": 2e-06, "output_cost_per_token": 1.6e-05, "supports_reasoning": true, "input_cost_per_token_above_200k_tokens": null, "cache_read_input_token_cost": null},
  "gemini/gemini-9-pro": {"litellm_provider": "gemini", "mode": "chat", "max_input_tokens": 1048576, "max_output_tokens": 65535, "input_cost_per_token": 1.25e-06, "input_cost_per_token_above_200k_tokens": 2.5e-06, "output_cost_per_token": 1e-05, "output_cost_per_token_above_200k_tokens": 1.5e-05, "cache_read_input_token_cost": 1.25e-07},
  "gemini-9-pro": {"litellm_provider": "vertex_ai-language-models", "mode": "chat", "input_cost_per_token": 9e-06, "output_cost_per_token": 9e-06},
  "azure/gpt-4o": {"litellm_provider": "azure", "mode": "chat", "max_tokens": 16384, "input_cost_per_token": 5e-06, "output_cost_per_token": 2e-05},
  "free/thing": {"litellm_provider": "groq", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0},
  "text-embedding-3": {"litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 1e-07},
  "broken": "not an object",
  "odd": {"litellm_provider": "openai", "mode": "chat", "max_tokens": -5, "input_cost_per_token": "free"}
}`

func refreshed(t *testing.T) *catalog.Catalog {
	t.Helper()
	conv, err := catalog.Default().FromLiteLLM([]byte(list), "a test", "2026-11-21")
	must.Succeed(t, err)
	if conv.Models != 7 || conv.Skipped != 3 || conv.Unpriced != 2 {
		t.Errorf("%d models, %d skipped, %d unpriced", conv.Models, conv.Skipped, conv.Unpriced)
	}
	path := filepath.Join(t.TempDir(), "deft", "models.json")
	must.Succeed(t, catalog.Save(path, conv.Data))
	c, err := catalog.Load(path)
	must.Succeed(t, err)
	return c
}

func TestPriceListOfLiteLLM(t *testing.T) {
	t.Parallel()
	c := refreshed(t)
	describe := func(model, provider string) llm.Info {
		info, _ := c.Describe(llm.Config{Model: model}, provider)
		return info
	}
	for name, tt := range map[string]struct {
		info   llm.Info
		want   llm.Price
		window int
	}{
		"a known model":       {describe("openai/gpt-4o", "openai"), llm.Price{Known: true, Input: 3, CacheRead: 1.5, CacheWrite: 3, Output: 10}, 128_000},
		"a new model":         {describe("openai/gpt-9", "openai"), llm.Price{Known: true, Input: 2, CacheRead: 2, CacheWrite: 2, Output: 16}, 900_000},
		"of another provider": {describe("azure/gpt-4o", "azure"), llm.Price{Known: true, Input: 5, CacheRead: 5, CacheWrite: 5, Output: 20}, 16_384},
		"tiers":               {describe("gemini/gemini-9-pro", "gemini"), llm.Price{Known: true, Input: 1.25, CacheRead: 0.125, CacheWrite: 1.25, Output: 10}, 1_048_576},
		"zero is not said":    {describe("groq/free/thing", "groq"), llm.Price{}, 0},
	} {
		if diff := cmp.Diff(tt.want, tt.info.Price); diff != "" || tt.info.ContextWindow != tt.window {
			t.Errorf("%s: window %d, price %s", name, tt.info.ContextWindow, diff)
		}
	}
	_, old := catalog.Default().Describe(llm.Config{Model: "gpt-4o"}, "openai")
	_, now := c.Describe(llm.Config{Model: "gpt-4o"}, "openai")
	if diff := cmp.Diff(old, now); diff != "" {
		t.Errorf("quirks are lost: %s", diff)
	}
	if _, q := c.Describe(llm.Config{Model: "gpt-9"}, "openai"); q.MaxTokensField != "max_completion_tokens" {
		t.Errorf("a new reasoning model of OpenAI: %+v", q)
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	c := refreshed(t)
	info, _ := c.Describe(llm.Config{Model: "gemini/gemini-9-pro"}, "gemini")
	p := c.Prices(info)
	long := llm.Price{Known: true, Input: 2.5, CacheRead: 2.5, CacheWrite: 2.5, Output: 15}
	if p.At(200_000) != info.Price || p.At(200_001) != long {
		t.Errorf("prices %+v and %+v", p.At(200_000), p.At(200_001))
	}
	u := llm.Usage{Prompt: 400_000, Output: 1_000}
	plain, _ := info.Price.Cost(u)
	if cost, ok := p.Correct(u, plain); !ok || cost < 1.0149 || cost > 1.0151 {
		t.Errorf("corrected to %v, %v", cost, ok)
	}
	if _, ok := p.Correct(u, 0.123); ok {
		t.Error("what the provider billed was corrected")
	}
	if _, ok := p.Correct(llm.Usage{Prompt: 10}, info.Price.Input/1e5); ok {
		t.Error("a short prompt was corrected")
	}
	flat, _ := c.Describe(llm.Config{Model: "openai/gpt-9"}, "openai")
	if p := c.Prices(flat); !flat.Price.Known || p.At(400_000) != flat.Price {
		t.Errorf("a tier without a price: %+v", p.At(400_000))
	}
	own := info
	own.Price.Input = 7
	if p := c.Prices(own); p.At(400_000) != own.Price {
		t.Errorf("a price of the user's has tiers: %+v", p.At(400_000))
	}
}

func TestInvalidPriceList(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "[]", "{}", "<html>", `{"a": {"mode": "embedding", "litellm_provider": "x"}}`} {
		if _, err := catalog.Default().FromLiteLLM([]byte(in), "", ""); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", in, err)
		}
	}
	path := filepath.Join(t.TempDir(), "models.json")
	if err := catalog.Save(path, []byte("{")); fault.KindOf(err) != fault.Invalid {
		t.Errorf("saved what is none: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a broken catalogue was written")
	}
	if c, err := catalog.Load(path); err != nil || c != catalog.Default() {
		t.Errorf("without a file: %v", err)
	}
}

func TestUserFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/deft/models.json"},
		{"", "/h", "/h/.config/deft/models.json"},
		{"relative", "/h", "/h/.config/deft/models.json"},
		{"", "", ""},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": tt.xdg, "HOME": tt.home}
		if got := catalog.UserFile(func(k string) string { return env[k] }); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func FuzzFromLiteLLM(f *testing.F) {
	f.Add([]byte(list))
	f.Add([]byte(`{"x":{"mode":"chat","litellm_provider":"p","input_cost_per_token_above_1k_tokens":1e300,"input_cost_per_token":1e300}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		conv, err := catalog.Default().FromLiteLLM(in, "s", "d")
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Fatal(err)
			}
			return
		}
		if err := catalog.Save(filepath.Join(dir, "models.json"), conv.Data); err != nil {
			t.Fatalf("what was converted does not read back: %v", err)
		}
	})
}
