package llm

import "slices"

// Quirks are the differences between endpoints that speak the same protocol.
// They come from llm/catalog and are never discovered by trial.
type Quirks struct {
	// MaxTokensField is "max_tokens" (default) or "max_completion_tokens".
	MaxTokensField string `json:"max_tokens_field,omitempty"`
	// NoSampling drops temperature, top_p and top_k, NoStop drops stop sequences.
	NoSampling bool `json:"no_sampling,omitempty"`
	NoStop     bool `json:"no_stop,omitempty"`
	// NoTopK: Chat Completions refuse top_k. Most servers except OpenAI's
	// accept it.
	NoTopK bool `json:"no_top_k,omitempty"`
	// SeedField is the field of Chat Completions for a seed: "" for seed,
	// SeedNone if there is none, or another name.
	SeedField string `json:"seed_field,omitempty"`
	// Effort: reasoning_effort is supported. Efforts lists its values if they
	// are fewer than none, low, medium, high and xhigh.
	Effort  bool     `json:"effort,omitempty"`
	Efforts []string `json:"efforts,omitempty"`
	// Thinking is the mode of extended thinking: "budget", "adaptive", or "" if
	// there is none.
	Thinking string `json:"thinking,omitempty"`
	// PromptCacheKey: prompt_cache_key is supported.
	PromptCacheKey bool `json:"prompt_cache_key,omitempty"`
	// NoStreamOptions: stream_options is refused.
	NoStreamOptions bool `json:"no_stream_options,omitempty"`
	// StringContent: content must be a string, not parts.
	StringContent bool `json:"string_content,omitempty"`
	// CacheRetention: prompt_cache_retention is supported.
	CacheRetention bool `json:"cache_retention,omitempty"`
	// ToolChoices lists the supported forms of tool_choice: "auto", "none",
	// "required" and "named". Empty means all of them.
	ToolChoices []string `json:"tool_choices,omitempty"`
	// Schema is how to request an answer of a JSON schema: "" by the schema
	// itself, SchemaObject by JSON mode with the schema in the prompt,
	// SchemaPrompt by the prompt alone.
	Schema string `json:"schema,omitempty"`
	// Strict: the server enforces the schemas of tools and answers in strict
	// requests (OpenAI's structured outputs). NoStrict: this model does not
	// support it, whatever its server does for others.
	Strict   bool `json:"strict,omitempty"`
	NoStrict bool `json:"no_strict,omitempty"`
	// ReasoningField is the field of Chat Completions for reasoning that must
	// be sent back: "" for reasoning_content, or one of the values below.
	ReasoningField string `json:"reasoning_field,omitempty"`
	// InlineImages: images must be data URLs.
	InlineImages bool `json:"inline_images,omitempty"`
	// ShortIDs: ids of tool calls must be nine letters and digits (Mistral).
	ShortIDs bool `json:"short_ids,omitempty"`
	// SplitReasoning requests reasoning separately from the text (MiniMax).
	SplitReasoning bool `json:"split_reasoning,omitempty"`
}

// Values of [Quirks].Schema.
const (
	SchemaObject = "object"
	SchemaPrompt = "prompt"
)

// Values of [Quirks].SeedField.
const (
	SeedNone   = "none"
	SeedRandom = "random_seed" // Mistral
)

// Values of [Quirks].ReasoningField.
const (
	ReasoningPlain   = "reasoning"         // Groq
	ReasoningBoth    = "both"              // vLLM: reasoning, and reasoning_content for older ones
	ReasoningDetails = "reasoning_details" // OpenRouter, MiniMax
	ReasoningBlocks  = "thinking_blocks"   // LiteLLM, Anthropic's signed blocks
)

// Thinking modes of [Quirks].
const (
	ThinkingBudget   = "budget"
	ThinkingAdaptive = "adaptive"
)

// effortOrder lists the reasoning efforts from least to most.
var effortOrder = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// EffortFor returns the value to send for a wanted effort: the same if the
// endpoint supports it, else the nearest lower one, else its lowest; "" to send
// nothing.
func (q Quirks) EffortFor(wanted string) string {
	if wanted == "" || !q.Effort {
		return ""
	}
	if len(q.Efforts) == 0 {
		return wanted
	}
	best := ""
	for _, e := range effortOrder {
		if slices.Contains(q.Efforts, e) {
			if best == "" || e == wanted || !after(e, wanted) {
				best = e
			}
		}
	}
	return best
}

// ToolChoiceFor returns the value to send for a wanted tool choice, "" to send
// nothing. A form that the endpoint does not support is not sent: the model
// then decides.
func (q Quirks) ToolChoiceFor(wanted string) string {
	form := wanted
	switch wanted {
	case "", "auto", "none", "required":
	default:
		form = "named"
	}
	if wanted == "" || len(q.ToolChoices) == 0 || slices.Contains(q.ToolChoices, form) {
		return wanted
	}
	return ""
}

// after reports whether effort a is higher than effort b. Unknown efforts count
// as the highest, so that the nearest known one is chosen.
func after(a, b string) bool {
	rank := func(s string) int {
		for i, e := range effortOrder {
			if e == s {
				return i
			}
		}
		return len(effortOrder)
	}
	return rank(a) > rank(b)
}
