// Package claude has the common parts of Anthropic's Messages API and Bedrock's Converse:
// how Claude is asked to think, and answers that are lists of blocks.
//
// # Concurrency and failure
//
// A [Blocks] belongs to one call. Nothing here fails.
package claude

import (
	"encoding/json"

	"github.com/deft-dev/deft/llm"
)

// Thinking budgets in tokens; "high" and above use the tokens that the answer leaves
// (docs/openhands/sdk-features.md section 1: at most 200,000).
const (
	minBudget    = 1_024 // the protocol's own minimum
	lowBudget    = 4_096
	mediumBudget = 16_384
	highBudget   = 200_000
)

// Interleaved is the beta that allows thinking between tool calls; adaptive models do so by
// default.
const Interleaved = "interleaved-thinking-2025-05-14"

// Parameters are the fields of a request that only Claude has.
type Parameters struct {
	Thinking     *Thinking     `json:"thinking,omitempty"`
	OutputConfig *OutputConfig `json:"output_config,omitempty"`
}

// Thinking is a request to think.
type Thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

// OutputConfig says how much a model thinks, and the form of its answer.
type OutputConfig struct {
	Effort string  `json:"effort,omitempty"`
	Format *Format `json:"format,omitempty"`
}

// Format is a JSON schema of an answer.
type Format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// Answer asks for the schema of a request.
func (p *Parameters) Answer(r *llm.Request) {
	if r.Schema != nil {
		p.OutputConfig = &OutputConfig{Format: &Format{"json_schema", r.Schema}}
	}
}

// Think asks for thinking in a form of [llm.Quirks], within the tokens of an answer. hasThinking
// reports that every assistant turn with calls since the last user message begins with
// thinking. A turn begun by another model does not, and the API then refuses a thinking
// budget. interleaved reports that thinking between calls needs the beta [Interleaved].
func (p *Parameters) Think(form string, r *llm.Request, hasThinking bool, maxTokens int) (interleaved bool) {
	if r.ReasoningEffort == "" || r.ReasoningEffort == "none" {
		return false
	}
	switch form {
	case llm.ThinkingAdaptive:
		p.Thinking = &Thinking{Type: "adaptive", Display: "summarized"}
		if p.OutputConfig == nil {
			p.OutputConfig = &OutputConfig{}
		}
		p.OutputConfig.Effort = adaptiveEffort(r.ReasoningEffort)
	case llm.ThinkingBudget:
		budget := min(budgetFor(r), maxTokens-max(minBudget, maxTokens/4))
		if budget >= minBudget && hasThinking {
			p.Thinking = &Thinking{Type: "enabled", BudgetTokens: budget}
			return len(r.Tools) > 0
		}
	}
	return false
}

func budgetFor(r *llm.Request) int {
	if r.ThinkingBudget > 0 {
		return max(r.ThinkingBudget, minBudget)
	}
	switch r.ReasoningEffort {
	case "minimal":
		return minBudget
	case "low":
		return lowBudget
	case "medium":
		return mediumBudget
	}
	return highBudget
}

func adaptiveEffort(effort string) string {
	switch effort {
	case "low", "medium", "high", "xhigh", "max":
		return effort
	case "minimal":
		return "low"
	}
	return "high"
}
