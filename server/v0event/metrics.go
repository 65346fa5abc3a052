package v0event

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// Metrics are the usage of a conversation. The lists of single calls, which grow with
// the conversation, are empty.
type Metrics struct {
	AccumulatedCost       float64        `json:"accumulated_cost"`
	MaxBudgetPerTask      *float64       `json:"max_budget_per_task"`
	AccumulatedTokenUsage llm.TokenUsage `json:"accumulated_token_usage"`
	Costs                 []any          `json:"costs"`
	ResponseLatencies     []any          `json:"response_latencies"`
	TokenUsages           []any          `json:"token_usages"`
}

// metricsOf adds up the services of a stats update; nil for any other value.
func metricsOf(up *event.ConversationStateUpdateEvent) *Metrics {
	var stats struct {
		Services map[string]struct {
			Cost   float64         `json:"accumulated_cost"`
			Budget *float64        `json:"max_budget_per_task"`
			Usage  *llm.TokenUsage `json:"accumulated_token_usage"`
		} `json:"usage_to_metrics"`
	}
	if json.Unmarshal(up.Value, &stats) != nil || stats.Services == nil {
		return nil
	}
	m := &Metrics{Costs: []any{}, ResponseLatencies: []any{}, TokenUsages: []any{}}
	for _, name := range slices.Sorted(maps.Keys(stats.Services)) { // in an order, so that the sum is always the same
		s := stats.Services[name]
		m.AccumulatedCost += s.Cost
		if m.MaxBudgetPerTask == nil {
			m.MaxBudgetPerTask = s.Budget
		}
		if u, sum := s.Usage, &m.AccumulatedTokenUsage; u != nil {
			sum.Model = u.Model
			sum.PromptTokens += u.PromptTokens
			sum.CompletionTokens += u.CompletionTokens
			sum.CacheReadTokens += u.CacheReadTokens
			sum.CacheWriteTokens += u.CacheWriteTokens
			sum.ReasoningTokens += u.ReasoningTokens
			sum.ContextWindow = max(sum.ContextWindow, u.ContextWindow)
			sum.PerTurnToken = max(sum.PerTurnToken, u.PerTurnToken)
		}
	}
	return m
}
