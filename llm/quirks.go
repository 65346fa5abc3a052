package llm

import "slices"

// Quirks are the differences between endpoints that speak the same protocol.
// They are data (see llm/catalog), never found out by trial.
type Quirks struct {
	// MaxTokensField is "max_tokens" (default) or "max_completion_tokens".
	MaxTokensField string `json:"max_tokens_field,omitempty"`
	// NoSampling drops temperature, top_p and top_k, NoStop drops stop sequences.
	NoSampling bool `json:"no_sampling,omitempty"`
	NoStop     bool `json:"no_stop,omitempty"`
	// NoTopK says that Chat Completions refuse top_k, which most servers but
	// OpenAI's take.
	NoTopK bool `json:"no_top_k,omitempty"`
	// SeedField is where Chat Completions take a seed: "" for seed, SeedNone
	// where they do not, or another name.
	SeedField string `json:"seed_field,omitempty"`
	// Effort says that reasoning_effort is understood; Efforts lists its
	// values where they are fewer than none, low, medium, high and xhigh.
	Effort  bool     `json:"effort,omitempty"`
	Efforts []string `json:"efforts,omitempty"`
	// Thinking is how extended thinking is asked for: "budget", "adaptive", or
	// "" where there is none.
	Thinking string `json:"thinking,omitempty"`
	// PromptCacheKey says that prompt_cache_key is accepted.
	PromptCacheKey bool `json:"prompt_cache_key,omitempty"`
	// NoStreamOptions says that stream_options is refused.
	NoStreamOptions bool `json:"no_stream_options,omitempty"`
	// StringContent says that content has to be a string, not parts.
	StringContent bool `json:"string_content,omitempty"`
	// CacheRetention says that prompt_cache_retention is accepted.
	CacheRetention bool `json:"cache_retention,omitempty"`
	// ToolChoices lists the forms of tool_choice that are accepted: "auto",
	// "none", "required" and "named". Empty means all of them.
	ToolChoices []string `json:"tool_choices,omitempty"`
	// Schema is how an answer of a JSON schema is asked for: "" by the schema
	// itself, SchemaObject by JSON mode with the schema in the prompt, and
	// SchemaPrompt by the prompt alone.
	Schema string `json:"schema,omitempty"`
	// Strict says that tools and answers are held to their schemas where the
	// request says strict (OpenAI's structured outputs); NoStrict that this
	// model came before it, whatever its server does for others.
	Strict   bool `json:"strict,omitempty"`
	NoStrict bool `json:"no_strict,omitempty"`
	// ReasoningField is where Chat Completions carry reasoning that has to be
	// sent back: "" for reasoning_content, or one of the values below.
	ReasoningField string `json:"reasoning_field,omitempty"`
	// InlineImages says that images have to be data, not addresses.
	InlineImages bool `json:"inline_images,omitempty"`
	// ShortIDs says that ids of tool calls have to be nine letters and digits
	// (Mistral).
	ShortIDs bool `json:"short_ids,omitempty"`
	// SplitReasoning asks for reasoning apart from the text (MiniMax).
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

// EffortFor returns the value to send for a wanted effort: the wanted one if
// the endpoint has it, else the nearest lower one it has, else its lowest; ""
// when nothing is to be sent.
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

// ToolChoiceFor returns the choice to send for a wanted one ("" for nothing).
// A form that the endpoint does not take is left out: the model then decides.
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

// after reports whether effort a is more than effort b. Unknown efforts are
// taken as the most, so that the nearest known one is chosen.
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
