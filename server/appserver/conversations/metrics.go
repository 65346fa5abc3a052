package conversations

import "github.com/deft-dev/deft/llm"

// Metrics are a conversation's usage, in the contract's form (MetricsSnapshot).
type Metrics struct {
	Model  string          `json:"model_name"`       // of the agent; "default" if it is not known
	Cost   float64         `json:"accumulated_cost"` // US dollars
	Budget *float64        `json:"max_budget_per_task"`
	Tokens *llm.TokenUsage `json:"accumulated_token_usage"`
}

// stats are the statistics of a conversation by service, without the ones of each
// call.
type stats struct {
	Services map[string]Metrics `json:"usage_to_metrics"`
}

// agentService is the service whose calls fill the context of the agent.
const agentService = "agent"

// defaultModel is the contract's name of no model.
const defaultModel = "default"

// total adds the services up, nil if there are none.
func (s stats) total() *Metrics {
	if len(s.Services) == 0 {
		return nil
	}
	out := &Metrics{Model: defaultModel, Tokens: &llm.TokenUsage{}}
	for name, m := range s.Services {
		out.Cost += m.Cost
		if m.Budget != nil {
			out.Budget = m.Budget
		}
		of := name == agentService || name == "default" || len(s.Services) == 1
		if of && m.Model != "" {
			out.Model = m.Model
		}
		t, sum := m.Tokens, out.Tokens
		if t == nil {
			continue
		}
		sum.PromptTokens += t.PromptTokens
		sum.CompletionTokens += t.CompletionTokens
		sum.CacheReadTokens += t.CacheReadTokens
		sum.CacheWriteTokens += t.CacheWriteTokens
		sum.ReasoningTokens += t.ReasoningTokens
		if of {
			sum.Model, sum.ContextWindow, sum.PerTurnToken = t.Model, t.ContextWindow, t.PerTurnToken
		}
	}
	return out
}
