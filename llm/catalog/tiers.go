package catalog

import (
	"math"
	"slices"

	"github.com/deft-dev/deft/llm"
)

// Tier is the price of a call whose prompt has more than Above tokens. It
// applies to the whole call, not only to the tokens above
// (https://ai.google.dev/gemini-api/docs/pricing).
type Tier struct {
	Above      int     `json:"above"`
	Input      float64 `json:"input"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
	Output     float64 `json:"output"`
}

func (t Tier) price() llm.Price {
	return llm.Price{Known: true, Input: t.Input, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Output: t.Output}
}

// Prices are all prices of a model: the base price and the prices of long prompts.
type Prices struct {
	Base  llm.Price
	tiers []Tier // by Above, ascending
}

// Prices returns the prices of a model as described by an adapter. The
// catalogue's tiers apply only if its base price does; else the user set the
// price, or another provider serves the model.
func (c *Catalog) Prices(info llm.Info) Prices {
	p := Prices{Base: info.Price}
	e := c.served(info.Name, info.Provider)
	if e == nil || e.Price == nil || !info.Price.Known || e.Price.llm() != info.Price {
		return p
	}
	p.tiers = slices.SortedFunc(slices.Values(e.Price.Tiers), func(a, b Tier) int { return a.Above - b.Above })
	return p
}

// At returns the price of a call with a prompt of this many tokens.
func (p Prices) At(prompt int) llm.Price {
	price := p.Base
	for _, t := range p.tiers {
		if prompt > t.Above {
			price = t.price()
		}
	}
	return price
}

// Correct returns the cost of a usage that an adapter computed with the base
// price. ok is false if no correction is needed: the prompt is short, or the
// cost was reported by the provider.
func (p Prices) Correct(u llm.Usage, cost float64) (dollars float64, ok bool) {
	price := p.At(u.Prompt)
	if price == p.Base {
		return 0, false
	}
	plain, known := p.Base.Cost(u)
	if !known || math.Abs(plain-cost) > 1e-12 {
		return 0, false
	}
	dollars, _ = price.Cost(u)
	return dollars, true
}
