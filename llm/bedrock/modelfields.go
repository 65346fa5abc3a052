package bedrock

import (
	"encoding/json"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/claude"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// modelFields are parameters that only some models support.
type modelFields struct {
	claude.Parameters
	AnthropicBeta   []string    `json:"anthropic_beta,omitempty"`
	ReasoningEffort string      `json:"reasoning_effort,omitempty"` // gpt-oss
	TopK            *int        `json:"top_k,omitempty"`            // Claude
	InferenceConfig *novaConfig `json:"inferenceConfig,omitempty"`  // Nova
}

type novaConfig struct {
	TopK *int `json:"topK"`
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
		return nil, m.end.Unwritten("the request", err)
	}
	if string(out) == "{}" {
		return nil, nil
	}
	return out, nil
}

// modelParameters requests thinking and JSON in the model's form.
func (m *Model) modelParameters(r *llm.Request, hasThinking bool, maxTokens int, tools bool, c *toolChoice) modelFields {
	var f modelFields
	switch m.vendor {
	case "openai":
		if effort := r.ReasoningEffort; effort != "" && effort != "none" {
			f.ReasoningEffort = threeLevels(effort)
		}
	case "anthropic":
		f.Answer(r)
		// A forced tool and thinking exclude each other.
		forced := c != nil && c.Auto == nil
		if !forced && f.Think(m.quirks.Thinking, r, hasThinking, maxTokens) && tools {
			f.AnthropicBeta = []string{claude.Interleaved}
		}
	}
	return f
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
