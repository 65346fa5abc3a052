package llm

import "slices"

// Quirks are the differences between endpoints that speak the same protocol.
// They are data (see llm/catalog), never found out by trial.
type Quirks struct {
	// MaxTokensField is "max_tokens" (default) or "max_completion_tokens".
	MaxTokensField string `json:"max_tokens_field,omitempty"`
	// NoSampling drops temperature and top_p, NoStop drops stop sequences.
	NoSampling bool `json:"no_sampling,omitempty"`
	NoStop     bool `json:"no_stop,omitempty"`
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
}

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
