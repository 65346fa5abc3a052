package spec

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/schema"
)

// unlimited stands for a time limit that was set to null.
const unlimited = 24 * time.Hour

// Config returns an adapter's configuration. c is the catalogue that overrides are
// laid on; nil takes the embedded one.
func (l *LLM) Config(c *catalog.Catalog) llm.Config {
	if c == nil {
		c = catalog.Default()
	}
	cfg := llm.Config{
		Model: l.Model, APIKey: l.APIKey, BaseURL: optional.Value(l.BaseURL), API: l.APIMode,
		APIVersion: optional.Value(l.APIVersion), Headers: maps.Clone(l.ExtraHeaders), Timeout: unlimited, IdleTimeout: unlimited,
		KeepParameters: !l.DropParams, ExtraBody: l.extraBody(), AWS: l.aws(), ToolsInText: !l.NativeToolCalling,
		ReasoningSummary: optional.Value(l.ReasoningSummary), PlainReasoning: !l.EnableEncryptedReasoning, CacheRetention: optional.Value(l.PromptCacheRetention),
	}
	l.endpoint(&cfg)
	if l.Timeout != nil && *l.Timeout > 0 {
		cfg.Timeout = time.Duration(min(*l.Timeout, math.MaxInt32)) * time.Second
	}
	if l.StreamIdleTimeout != nil && *l.StreamIdleTimeout > 0 {
		cfg.IdleTimeout = min(time.Duration(*l.StreamIdleTimeout*float64(time.Second)), unlimited)
	}
	if x := l.Deft; x != nil {
		cfg.ContextLimit, cfg.KeepAlive = x.ContextLimit, exact(x.KeepAlive)
		cfg.Timeout = cmp.Or(exact(x.Timeout), cfg.Timeout)
		cfg.FirstTimeout, cfg.ConnectTimeout = exact(x.FirstTokenTimeout), exact(x.ConnectTimeout)
	}
	l.describe(&cfg, c)
	return cfg
}

func exact(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// extraBody returns the extra fields as JSON.
func (l *LLM) extraBody() map[string]json.RawMessage {
	if l.LiteLLMExtraBody.Len() == 0 {
		return nil
	}
	out := map[string]json.RawMessage{}
	for _, name := range l.LiteLLMExtraBody.Keys() {
		if raw, err := schema.Encode(l.LiteLLMExtraBody.Get(name)); err == nil { // it came from JSON
			out[name] = raw
		}
	}
	return out
}

// aws returns how requests to Bedrock are signed.
func (l *LLM) aws() llm.AWS {
	return llm.AWS{
		AccessKeyID: l.AWSAccessKeyID, SecretAccessKey: l.AWSSecretAccessKey, SessionToken: l.AWSSessionToken,
		Region: optional.Value(l.AWSRegionName), Profile: optional.Value(l.AWSProfileName), Role: optional.Value(l.AWSRoleName), SessionName: optional.Value(l.AWSSessionName),
	}
}

// endpoint fills in the fields that single providers want.
func (l *LLM) endpoint(cfg *llm.Config) {
	switch provider, _, _ := strings.Cut(l.Model, "/"); provider {
	case "ollama", "ollama_chat":
		if cfg.BaseURL == "" {
			cfg.BaseURL = optional.Value(l.OllamaBaseURL)
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
			cfg.BaseURL = optional.Value(l.AWSBedrockRuntimeEndpoint)
		}
	}
}

// describe applies the user's statements about the model to the catalogue's.
func (l *LLM) describe(cfg *llm.Config, c *catalog.Catalog) {
	asked := *cfg
	if name := optional.Value(l.ModelCanonicalName); name != "" {
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
	if optional.Value(l.PromptCacheRetention) == "" {
		q.CacheRetention = false
	}
	return !reflect.DeepEqual(*q, before)
}
