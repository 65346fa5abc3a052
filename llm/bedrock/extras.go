package bedrock

import (
	"encoding/json"

	"github.com/deft-dev/deft/llm"
)

// Thinking budgets in tokens, as llm/anthropic has them.
const (
	leastBudget  = 1_024
	lowBudget    = 4_096
	mediumBudget = 16_384
	highBudget   = 200_000
)

// interleaved lets Claude think between tool calls.
const interleaved = "interleaved-thinking-2025-05-14"

// modelFields are parameters that only some models know.
type modelFields struct {
	Thinking        *thinking     `json:"thinking,omitempty"`
	OutputConfig    *outputConfig `json:"output_config,omitempty"`
	AnthropicBeta   []string      `json:"anthropic_beta,omitempty"`
	ReasoningEffort string        `json:"reasoning_effort,omitempty"` // gpt-oss
}

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// extras asks for thinking, and for JSON, the way the model takes it; nil for
// neither.
func (m *Model) extras(r *llm.Request, thoughtful bool, maxTokens int, tools bool, c *toolChoice) *modelFields {
	var f modelFields
	if r.Schema != nil && m.vendor == "anthropic" {
		f.OutputConfig = &outputConfig{Format: &outputFormat{"json_schema", r.Schema}}
	}
	// A forced tool and thinking exclude each other.
	forced := c != nil && c.Auto == nil
	switch effort := r.ReasoningEffort; {
	case effort == "" || effort == "none":
	case m.vendor == "openai":
		f.ReasoningEffort = threeLevels(effort)
	case m.vendor == "anthropic" && !forced:
		m.think(&f, effort, thoughtful, maxTokens, tools)
	}
	if f.Thinking == nil && f.OutputConfig == nil && f.ReasoningEffort == "" {
		return nil
	}
	return &f
}

// think asks for thinking. thoughtful says that every assistant turn with calls
// since the user's last words begins with thinking, as a budget demands.
func (m *Model) think(f *modelFields, effort string, thoughtful bool, maxTokens int, tools bool) {
	switch m.quirks.Thinking {
	case llm.ThinkingAdaptive:
		f.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		if f.OutputConfig == nil {
			f.OutputConfig = &outputConfig{}
		}
		if effort == "minimal" {
			effort = "low"
		}
		f.OutputConfig.Effort = effort
	case llm.ThinkingBudget:
		budget := min(budgetFor(effort), maxTokens-max(leastBudget, maxTokens/4))
		if budget < leastBudget || !thoughtful {
			return
		}
		f.Thinking = &thinking{Type: "enabled", BudgetTokens: budget}
		if tools {
			f.AnthropicBeta = []string{interleaved}
		}
	}
}

func threeLevels(effort string) string {
	switch effort {
	case "minimal", "low":
		return "low"
	case "medium":
		return "medium"
	}
	return "high"
}

func budgetFor(effort string) int {
	switch effort {
	case "minimal":
		return leastBudget
	case "low":
		return lowBudget
	case "medium":
		return mediumBudget
	}
	return highBudget
}
