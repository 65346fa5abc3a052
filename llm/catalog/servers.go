package catalog

import (
	"cmp"

	"github.com/deft-dev/deft/llm"
)

// servers has the quirks of endpoints, by the provider's name, whatever model
// they serve; from the providers' API references as of 2026-11.
var servers = map[string]llm.Quirks{
	"openai":        {Strict: true},
	"azure":         {MaxTokensField: "max_completion_tokens", PromptCacheKey: true, Strict: true, NoTopK: true},
	"openhands":     {ReasoningField: llm.ReasoningBlocks},
	"litellm_proxy": {ReasoningField: llm.ReasoningBlocks},
	"openrouter":    {ReasoningField: llm.ReasoningDetails},
	// DeepSeek supports JSON mode only, and text content only.
	"deepseek": {Schema: llm.SchemaObject, StringContent: true},
	// Mistral refuses unknown fields, and sends usage without being asked.
	"mistral": {NoStreamOptions: true, ShortIDs: true, NoTopK: true, SeedField: llm.SeedRandom},
	"groq":    {MaxTokensField: "max_completion_tokens", ReasoningField: llm.ReasoningPlain},
	"xai":     {MaxTokensField: "max_completion_tokens"},
	// Moonshot's thinking models refuse "required", Z.ai all but "auto".
	// Moonshot fetches no images.
	"moonshot":     {ToolChoices: []string{"auto", "none"}, PromptCacheKey: true, InlineImages: true},
	"zai":          {ToolChoices: []string{"auto"}, Schema: llm.SchemaObject, SeedField: llm.SeedNone},
	"minimax":      {ToolChoices: []string{"auto", "none"}, Schema: llm.SchemaPrompt, ReasoningField: llm.ReasoningDetails, SplitReasoning: true},
	"together_ai":  {},
	"fireworks_ai": {},
	// LM Studio supports only words as tool_choice.
	"lm_studio": {ToolChoices: []string{"auto", "none", "required"}},
	"vllm":      {ReasoningField: llm.ReasoningBoth},
	"llama_cpp": {ToolChoices: []string{"auto", "none", "required"}},
}

// withServerQuirks adds the server's quirks to the model's.
func withServerQuirks(q llm.Quirks, provider string) llm.Quirks {
	s, ok := servers[provider]
	if !ok {
		return q
	}
	q.MaxTokensField = cmp.Or(q.MaxTokensField, s.MaxTokensField)
	q.PromptCacheKey = q.PromptCacheKey || s.PromptCacheKey
	q.NoStreamOptions = q.NoStreamOptions || s.NoStreamOptions
	q.StringContent = q.StringContent || s.StringContent
	q.InlineImages = q.InlineImages || s.InlineImages
	q.ShortIDs = q.ShortIDs || s.ShortIDs
	q.NoTopK = q.NoTopK || s.NoTopK
	q.SeedField = cmp.Or(q.SeedField, s.SeedField)
	q.SplitReasoning = q.SplitReasoning || s.SplitReasoning
	q.Strict = (q.Strict || s.Strict) && !q.NoStrict
	q.Schema = cmp.Or(q.Schema, s.Schema)
	q.ReasoningField = cmp.Or(q.ReasoningField, s.ReasoningField)
	if len(q.ToolChoices) == 0 {
		q.ToolChoices = s.ToolChoices
	}
	return q
}
