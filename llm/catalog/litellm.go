package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// maxListed bounds the models of a price list.
const maxListed = 50_000

// makers are the providers whose models the catalogue lists without a prefix;
// names of other models begin with their provider.
var makers = []string{"openai", "anthropic", "gemini", "deepseek", "mistral", "xai", "moonshot", "zai", "minimax"}

// Converted is a price list in the format of models.json.
type Converted struct {
	Data     []byte
	Models   int // converted
	Unpriced int // of them, without a price
	Skipped  int // entries that are malformed or not chat models
}

// FromLiteLLM converts LiteLLM's model_prices_and_context_window.json
// (https://github.com/BerriAI/litellm, MIT) to a file for [Catalog.Override].
// Data that the list does not have, such as quirks, is taken from c. A price of
// zero counts as unknown, since the list often has it for missing prices.
// Errors are of kind Invalid.
func (c *Catalog) FromLiteLLM(data []byte, source, date string) (Converted, error) {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return Converted{}, fault.New(fault.Invalid, "the price list is not a JSON object of models").Because(err)
	}
	if len(list) > maxListed {
		return Converted{}, fault.New(fault.Invalid, fmt.Sprintf("the price list has %d models, more than %d", len(list), maxListed))
	}
	var out Converted
	f := file{Source: source, Date: date, Unit: "US dollars for one million tokens"}
	taken := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(list)) {
		e, ok := c.listed(key, list[key])
		if !ok || taken[fold(e.Name)] {
			out.Skipped++
			continue
		}
		taken[fold(e.Name)] = true
		if e.Price == nil {
			out.Unpriced++
		}
		f.Models = append(f.Models, e)
	}
	out.Models = len(f.Models)
	if out.Models == 0 {
		return Converted{}, fault.New(fault.Invalid, "the price list has no chat models").Hint("use LiteLLM's model_prices_and_context_window.json")
	}
	var err error
	if out.Data, err = json.MarshalIndent(f, "", " "); err != nil {
		return Converted{}, fmt.Errorf("write the price list: %w", err)
	}
	return out, nil
}

// fields are the fields of one entry of LiteLLM's list.
type fields map[string]any

func (f fields) number(name string) float64 {
	n, ok := f[name].(float64)
	if !ok || n < 0 || math.IsInf(n, 0) {
		return 0
	}
	return n
}

func (f fields) tokens(names ...string) int {
	for _, name := range names {
		if n := f.number(name); n >= 1 && n < 1e9 {
			return int(n)
		}
	}
	return 0
}

// perMillion is a price without rounding errors of binary fractions. More than
// a dollar for one token is a mistake in the list.
func (f fields) perMillion(name string) float64 {
	n := f.number(name)
	if n > 1 {
		return 0
	}
	return math.Round(n*1e12) / 1e6
}

// flag returns a flag of the list, or known if the list does not have it.
func (f fields) flag(name string, known bool) bool {
	if b, ok := f[name].(bool); ok {
		return b
	}
	return known
}

// listed converts one entry. ok is false if it does not describe a chat model.
func (c *Catalog) listed(key string, raw json.RawMessage) (e Entry, ok bool) {
	var f fields
	if json.Unmarshal(raw, &f) != nil || key == "sample_spec" || strings.TrimSpace(key) == "" {
		return e, false
	}
	if mode, _ := f["mode"].(string); mode != "chat" && mode != "responses" {
		return e, false
	}
	provider, _ := f["litellm_provider"].(string)
	if provider = providerName(provider); provider == "" {
		return e, false
	}
	e.Name, e.Provider = catalogName(key, provider), provider
	known, found := c.Lookup(e.Name)
	if found {
		e.MustEcho, e.Quirks, e.PromptCache = known.MustEcho, known.Quirks, known.PromptCache
		if known.Name == e.Name {
			e.Aliases = known.Aliases
		}
	}
	e.Context = cmp.Or(f.tokens("max_input_tokens", "max_tokens"), known.Context)
	e.MaxOutput = cmp.Or(f.tokens("max_output_tokens", "max_tokens"), known.MaxOutput)
	if e.Context > 0 {
		e.MaxOutput = min(e.MaxOutput, e.Context)
	}
	e.Vision = f.flag("supports_vision", known.Vision)
	e.Tools = f.flag("supports_function_calling", known.Tools)
	e.Reasoning = f.flag("supports_reasoning", known.Reasoning)
	if !found {
		e.guess(f)
	}
	if e.Price = f.price(); e.Price == nil && known.Provider == provider {
		e.Price = known.Price
	}
	return e, true
}

// guess gives a new model the quirks of its provider's latest models.
func (e *Entry) guess(f fields) {
	switch {
	case e.Provider == "openai" && e.Reasoning:
		e.Quirks.MaxTokensField, e.Quirks.PromptCacheKey = "max_completion_tokens", true
		e.Quirks.NoSampling, e.Quirks.NoStop, e.Quirks.Effort = true, true, true
	case e.Provider == "anthropic":
		e.PromptCache = f.flag("supports_prompt_caching", false)
		if e.Reasoning {
			e.Quirks.Thinking, e.Quirks.NoSampling = "adaptive", true
		}
	}
}

// providerName returns Deft's name of a provider.
func providerName(provider string) string {
	for _, p := range []string{"vertex_ai", "bedrock"} {
		if strings.HasPrefix(provider, p) {
			return p
		}
	}
	return strings.ToLower(strings.TrimSpace(provider))
}

func catalogName(key, provider string) string {
	rest, prefixed := strings.CutPrefix(key, provider+"/")
	switch {
	case slices.Contains(makers, provider):
		return cmp.Or(rest, key)
	case prefixed:
		return key
	}
	return provider + "/" + key
}

// above matches the prices of long prompts.
var above = lazyregexp.New(`^input_cost_per_token_above_([0-9]{1,6})k_tokens$`)

func (f fields) price() *Price {
	p := Price{Input: f.perMillion("input_cost_per_token"), Output: f.perMillion("output_cost_per_token")}
	if p.Input == 0 && p.Output == 0 {
		return nil
	}
	p.CacheRead = cmp.Or(f.perMillion("cache_read_input_token_cost"), p.Input)
	p.CacheWrite = cmp.Or(f.perMillion("cache_creation_input_token_cost"), p.Input)
	for name := range f {
		m := above().FindStringSubmatch(name)
		if m == nil {
			continue
		}
		thousands, err := strconv.Atoi(m[1])
		if err != nil || thousands == 0 {
			continue
		}
		suffix := "_above_" + m[1] + "k_tokens"
		t := Tier{
			Above: thousands * 1000, Input: f.perMillion(name),
			Output: cmp.Or(f.perMillion("output_cost_per_token"+suffix), p.Output),
		}
		if t.Input == 0 { // null
			continue
		}
		t.CacheRead = cmp.Or(f.perMillion("cache_read_input_token_cost"+suffix), t.Input)
		t.CacheWrite = cmp.Or(f.perMillion("cache_creation_input_token_cost"+suffix), t.Input)
		p.Tiers = append(p.Tiers, t)
	}
	slices.SortFunc(p.Tiers, func(a, b Tier) int { return a.Above - b.Above })
	return &p
}
