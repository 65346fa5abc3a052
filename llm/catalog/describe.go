package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deft-dev/deft/llm"
)

// resellers serve models of other providers at the original prices.
var resellers = []string{"litellm_proxy", "openhands", "openrouter", "azure"}

// local servers cost nothing.
var local = []string{"ollama", "lm_studio", "llama_cpp"}

// Describe returns the description and the quirks of the model of cfg as served
// by provider, with the overrides of cfg. Unknown models are assumed to support
// images and tools: their servers report if they do not.
func (c *Catalog) Describe(cfg llm.Config, provider string) (llm.Info, llm.Quirks) {
	info := llm.Info{Name: cfg.Model, Provider: provider, Vision: true, Tools: true}
	var quirks llm.Quirks
	if e := c.served(cmp.Or(cfg.WireModel, cfg.Model), provider); e != nil {
		info = e.info(cfg.Model, provider)
		quirks = e.quirks(provider)
	}
	quirks = withServerQuirks(quirks, provider)
	if slices.Contains(local, provider) {
		info.Price = llm.Price{Known: true}
	}
	if cfg.Quirks != nil {
		quirks = *cfg.Quirks
	}
	return merge(info, cfg.Info), quirks
}

// served finds a model as a provider serves it, which may differ from its
// maker's version ("azure/gpt-5").
func (c *Catalog) served(name, provider string) *Entry {
	if _, rest, ok := strings.Cut(name, "/"); ok && strings.HasPrefix(name, provider+"/") {
		name = rest
	}
	if e := c.find(fold(provider + "/" + name)); e != nil {
		return e
	}
	if e, ok := c.Lookup(name); ok {
		return &e
	}
	return c.fromFamily(name)
}

func (e *Entry) info(name, provider string) llm.Info {
	i := llm.Info{
		Name: name, Provider: provider, ContextWindow: e.Context, MaxOutput: e.MaxOutput,
		Vision: e.Vision, Reasoning: e.Reasoning, Tools: e.Tools, PromptCache: e.PromptCache,
	}
	if e.Price != nil && (provider == e.Provider || slices.Contains(resellers, provider)) {
		i.Price = e.Price.llm()
	}
	i.MustEcho.ReasoningContent = slices.Contains(e.MustEcho, "reasoning_content")
	i.MustEcho.ThinkingBlocks = e.Quirks.Thinking != ""
	return i
}

// quirks returns the quirks of the model itself, without the quirks of its own
// provider's endpoint if another one serves it.
func (e *Entry) quirks(provider string) llm.Quirks {
	q := e.Quirks
	if provider != e.Provider {
		q.PromptCacheKey, q.CacheRetention, q.MaxTokensField = false, false, ""
	}
	return q
}

// merge overrides base by the fields that are set in over.
func merge(base, over llm.Info) llm.Info {
	base.Name = cmp.Or(over.Name, base.Name)
	base.Provider = cmp.Or(over.Provider, base.Provider)
	base.ContextWindow = cmp.Or(over.ContextWindow, base.ContextWindow)
	base.MaxOutput = cmp.Or(over.MaxOutput, base.MaxOutput)
	if over.Price.Known {
		base.Price = over.Price
	}
	base.Vision = base.Vision || over.Vision
	base.Reasoning = base.Reasoning || over.Reasoning
	base.Tools = base.Tools || over.Tools
	base.PromptCache = base.PromptCache || over.PromptCache
	base.MustEcho = llm.Echo{
		ThinkingBlocks:   base.MustEcho.ThinkingBlocks || over.MustEcho.ThinkingBlocks,
		ReasoningContent: base.MustEcho.ReasoningContent || over.MustEcho.ReasoningContent,
		ReasoningItems:   base.MustEcho.ReasoningItems || over.MustEcho.ReasoningItems,
	}
	return base
}
