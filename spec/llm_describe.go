package spec

import (
	"strings"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
)

// describe applies what the user says about the model to what the catalogue
// knows.
func (l *LLM) describe(cfg *llm.Config, c *catalog.Catalog) {
	asked := *cfg
	if name := value(l.ModelCanonicalName); name != "" {
		asked.Model = name
	}
	provider, _, ok := strings.Cut(asked.Model, "/")
	if !ok {
		if e, known := c.Lookup(asked.Model); known {
			provider = e.Provider
		} else {
			provider = ""
		}
	}
	info, quirks := c.Describe(asked, provider)
	if asked.Model != cfg.Model {
		info.Name, info.Provider = "", ""
		cfg.Info = info
		cfg.Quirks = &quirks
	}
	if l.MaxInputTokens != nil {
		cfg.Info.ContextWindow = *l.MaxInputTokens
	}
	if l.InputCostPerToken != nil && l.OutputCostPerToken != nil {
		in, out := *l.InputCostPerToken*1e6, *l.OutputCostPerToken*1e6
		cfg.Info.Price = llm.Price{Known: true, Input: in, CacheRead: in, CacheWrite: in, Output: out}
	}
	if l.override(&cfg.Info, &quirks, cfg) {
		cfg.Quirks = &quirks
	}
}

// override applies capability_overrides and the switches beside them, and
// reports whether quirks changed.
func (l *LLM) override(info *llm.Info, q *llm.Quirks, cfg *llm.Config) bool {
	before := *q
	yes := func(name string, set func(bool)) {
		if v, ok := l.Capabilities[name].(bool); ok {
			set(v)
		}
	}
	yes("supports_reasoning_effort", func(v bool) { q.Effort = v })
	yes("supports_sampling_params", func(v bool) { q.NoSampling = !v })
	yes("supports_stop_words", func(v bool) { q.NoStop = !v })
	yes("supports_prompt_cache_retention", func(v bool) { q.CacheRetention = v })
	yes("supports_prompt_cache_key", func(v bool) { q.PromptCacheKey = v })
	yes("supports_prompt_cache", func(v bool) { info.PromptCache = info.PromptCache || v })
	yes("supports_vision", func(v bool) { info.Vision = info.Vision || v })
	yes("supports_responses_api", func(v bool) {
		switch {
		case cfg.API != llm.APIAuto && cfg.API != "":
		case v:
			cfg.API = llm.APIResponses
		default:
			cfg.API = llm.APIChat
		}
	})
	switch l.Capabilities["thinking_mode"] {
	case "adaptive":
		q.Thinking = llm.ThinkingAdaptive
	case "manual":
		q.Thinking = llm.ThinkingBudget
	case "none":
		q.Thinking = ""
	}
	q.NoStop = q.NoStop || l.DisableStopWord != nil && *l.DisableStopWord
	if l.ForceStringSerializer != nil {
		q.StringContent = *l.ForceStringSerializer
	}
	if l.InlineImageURLs != nil {
		q.InlineImages = *l.InlineImageURLs
	}
	if value(l.PromptCacheRetention) == "" {
		q.CacheRetention = false
	}
	return q.CacheRetention != before.CacheRetention || q.StringContent != before.StringContent ||
		q.InlineImages != before.InlineImages || q.NoStop != before.NoStop || q.Thinking != before.Thinking ||
		q.Effort != before.Effort || q.NoSampling != before.NoSampling || q.PromptCacheKey != before.PromptCacheKey
}
