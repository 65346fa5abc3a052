package bedrock

import (
	"encoding/json"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// Thinking budgets in tokens, as in llm/anthropic.
const (
	minBudget    = 1_024
	lowBudget    = 4_096
	mediumBudget = 16_384
	highBudget   = 200_000
)

// interleaved allows Claude to think between tool calls.
const interleaved = "interleaved-thinking-2025-05-14"

// modelFields are parameters that only some models support.
type modelFields struct {
	Thinking        *thinking     `json:"thinking,omitempty"`
	OutputConfig    *outputConfig `json:"output_config,omitempty"`
	AnthropicBeta   []string      `json:"anthropic_beta,omitempty"`
	ReasoningEffort string        `json:"reasoning_effort,omitempty"` // gpt-oss
	TopK            *int          `json:"top_k,omitempty"`            // Claude
	InferenceConfig *novaConfig   `json:"inferenceConfig,omitempty"`  // Nova
}

type novaConfig struct {
	TopK *int `json:"topK"`
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

// topK sets top_k for Claude and Nova; Converse has no form for other models.
func (m *Model) topK(f *modelFields, k *int) error {
	switch {
	case k == nil:
	case m.vendor == "anthropic":
		f.TopK = k
	case m.vendor == "amazon":
		f.InferenceConfig = &novaConfig{k}
	default:
		return m.end.LeaveOut("top_k")
	}
	return nil
}

// additional encodes the model's own fields and the user's; nil if there are none.
func (m *Model) additional(f modelFields) (json.RawMessage, error) {
	out, err := historycache.AppendJSON(nil, f)
	if err == nil {
		out, err = m.end.Extend(out)
	}
	if err != nil {
		return nil, m.unwritten(err)
	}
	if string(out) == "{}" {
		return nil, nil
	}
	return out, nil
}

// modelParameters requests thinking and JSON in the model's form.
func (m *Model) modelParameters(r *llm.Request, hasThinking bool, maxTokens int, tools bool, c *toolChoice) modelFields {
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
		m.think(&f, r, hasThinking, maxTokens, tools)
	}
	return f
}

// think requests thinking. hasThinking reports that every assistant turn with
// calls since the last user message begins with thinking, as a budget requires.
func (m *Model) think(f *modelFields, r *llm.Request, hasThinking bool, maxTokens int, tools bool) {
	switch m.quirks.Thinking {
	case llm.ThinkingAdaptive:
		f.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		if f.OutputConfig == nil {
			f.OutputConfig = &outputConfig{}
		}
		f.OutputConfig.Effort = r.ReasoningEffort
		if f.OutputConfig.Effort == "minimal" {
			f.OutputConfig.Effort = "low"
		}
	case llm.ThinkingBudget:
		budget := min(budgetFor(r), maxTokens-max(minBudget, maxTokens/4))
		if budget < minBudget || !hasThinking {
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
