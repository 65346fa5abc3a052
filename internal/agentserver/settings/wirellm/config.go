package wirellm

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/catalog"
)

// unlimited stands for a time limit that was set to null.
const unlimited = 24 * time.Hour

// Config returns what an adapter needs to know. c is the catalogue that
// overrides are laid on; nil takes the embedded one.
func (l *LLM) Config(c *catalog.Catalog) llm.Config {
	if c == nil {
		c = catalog.Default()
	}
	cfg := llm.Config{
		Model: l.Model, APIKey: l.APIKey, BaseURL: value(l.BaseURL), API: l.APIMode,
		APIVersion: value(l.APIVersion), Headers: maps.Clone(l.ExtraHeaders), Timeout: unlimited, IdleTimeout: unlimited,
	}
	l.endpoint(&cfg)
	if l.Timeout != nil && *l.Timeout > 0 {
		cfg.Timeout = time.Duration(min(*l.Timeout, math.MaxInt32)) * time.Second
	}
	if l.StreamIdleTimeout != nil && *l.StreamIdleTimeout > 0 {
		cfg.IdleTimeout = min(time.Duration(*l.StreamIdleTimeout*float64(time.Second)), unlimited)
	}
	l.describe(&cfg, c)
	return cfg
}

// endpoint fills in what single providers want.
func (l *LLM) endpoint(cfg *llm.Config) {
	switch provider, _, _ := strings.Cut(l.Model, "/"); provider {
	case "ollama", "ollama_chat":
		if cfg.BaseURL == "" {
			cfg.BaseURL = value(l.OllamaBaseURL)
		}
	case "openrouter":
		if cfg.Headers == nil {
			cfg.Headers = map[string]string{}
		}
		for name, v := range map[string]string{"HTTP-Referer": l.OpenRouterSiteURL, "X-Title": l.OpenRouterAppName} {
			if _, ok := cfg.Headers[name]; !ok && v != "" {
				cfg.Headers[name] = v
			}
		}
	case "bedrock":
		if cfg.BaseURL == "" {
			cfg.BaseURL = value(l.AWSBedrockRuntimeEndpoint)
		}
	}
}

// describe lays what the user says about the model over what is known of it.
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
	if l.PromptCacheRetention == nil || *l.PromptCacheRetention != "24h" {
		q.CacheRetention = false
	}
	return q.CacheRetention != before.CacheRetention || q.StringContent != before.StringContent ||
		q.InlineImages != before.InlineImages || q.NoStop != before.NoStop || q.Thinking != before.Thinking ||
		q.Effort != before.Effort || q.NoSampling != before.NoSampling || q.PromptCacheKey != before.PromptCacheKey
}

// Broker returns o with the retries of the LLM.
func (l *LLM) Broker(o broker.Options) broker.Options {
	o.Attempts = max(l.NumRetries, 1)
	// To broker.Options zero says nothing; to the wire it says no wait.
	o.Multiplier = max(l.RetryMultiplier, 1e-9)
	o.MinWait = max(seconds(l.RetryMinWait), time.Nanosecond)
	o.MaxWait = max(seconds(l.RetryMaxWait), time.Nanosecond)
	return o
}

func seconds(n int) time.Duration {
	return time.Duration(min(n, int(unlimited/time.Second))) * time.Second
}

// Request returns r with the settings of the LLM where r says nothing.
func (l *LLM) Request(r llm.Request) llm.Request {
	if r.MaxOutputTokens == 0 && l.MaxOutputTokens != nil {
		r.MaxOutputTokens = *l.MaxOutputTokens
	}
	if r.Temperature == nil {
		r.Temperature = l.Temperature
	}
	if r.TopP == nil {
		r.TopP = l.TopP
	}
	if r.ReasoningEffort == "" {
		r.ReasoningEffort = effort(value(l.ReasoningEffort))
	}
	r.NoStream = r.NoStream || !l.Stream
	if l.blind() {
		r.Messages = withoutImages(r.Messages)
	}
	return r
}

// blind reports whether the model is to be sent no images.
func (l *LLM) blind() bool {
	return l.DisableVision != nil && *l.DisableVision || l.Capabilities["supports_vision"] == false
}

// withoutImages returns messages without images: the very same ones if they
// have none. A message of nothing but images says that there were some.
func withoutImages(msgs []event.Message) []event.Message {
	isImage := func(c event.Content) bool { return c.Type == event.TypeImage }
	var out []event.Message
	for i, m := range msgs {
		if !slices.ContainsFunc(m.Content, isImage) {
			continue
		}
		if out == nil {
			out = slices.Clone(msgs)
		}
		m.Content = slices.DeleteFunc(slices.Clone(m.Content), isImage)
		if len(m.Content) == 0 {
			m.Content = event.Texts("(an image, which this model is not shown)")
		}
		out[i] = m
	}
	if out == nil {
		return msgs
	}
	return out
}

// effort maps values that only some providers have to the nearest of
// llm.Request.
func effort(s string) string {
	switch s {
	case "minimal":
		return "low"
	case "max":
		return "xhigh"
	}
	return s
}

// Unused names the settings of the LLM that differ from their defaults and
// that Deft has no counterpart for, so that they can be told to the user.
func (l *LLM) Unused() []string {
	var names []string
	add := func(set bool, name string) {
		if set {
			names = append(names, name)
		}
	}
	add(l.TopK != nil, "top_k")
	add(l.Seed != nil, "seed")
	add(l.CustomTokenizer != nil, "custom_tokenizer")
	add(l.LiteLLMExtraBody.Len() > 0, "litellm_extra_body")
	add(!l.CachingPrompt, "caching_prompt")
	add(l.ReasoningSummary != nil, "reasoning_summary")
	add(l.AuthType == "subscription", "auth_type")
	add(l.AWSAccessKeyID != "" || l.AWSProfileName != nil || l.AWSRoleName != nil || l.AWSRegionName != nil, "aws_*")
	return names
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
