package state

import (
	"encoding/json"
	"maps"
	"slices"
)

// Stats are the metrics of a conversation by usage id ("agent", "condenser"
// …), in their wire form (sdk-wire.md section 5.2).
//
// A stats update carries the totals of every service, and in the lists only
// the call that caused it; the fold joins the lists.
type Stats struct {
	UsageToMetrics map[string]Metrics `json:"usage_to_metrics"`
}

// Metrics are what one service spent.
type Metrics struct {
	ModelName             string            `json:"model_name"`
	AccumulatedCost       float64           `json:"accumulated_cost"` // US dollars
	MaxBudgetPerTask      *float64          `json:"max_budget_per_task,omitempty"`
	AccumulatedTokenUsage TokenUsage        `json:"accumulated_token_usage"`
	Costs                 []Cost            `json:"costs"`
	ResponseLatencies     []ResponseLatency `json:"response_latencies"`
	TokenUsages           []TokenUsage      `json:"token_usages"`
}

// TokenUsage counts tokens, of one call or in total.
type TokenUsage struct {
	Model            string `json:"model"`
	PromptTokens     int    `json:"prompt_tokens"`
	CompletionTokens int    `json:"completion_tokens"`
	CacheReadTokens  int    `json:"cache_read_tokens"`
	CacheWriteTokens int    `json:"cache_write_tokens"`
	ReasoningTokens  int    `json:"reasoning_tokens"`
	ContextWindow    int    `json:"context_window"`
	PerTurnToken     int    `json:"per_turn_token"`
	ResponseID       string `json:"response_id"`
}

// Cost is the price of one call in US dollars.
type Cost struct {
	Model     string  `json:"model"`
	Cost      float64 `json:"cost"`
	Timestamp float64 `json:"timestamp"` // seconds since 1970
}

// ResponseLatency is how long one call took, in seconds.
type ResponseLatency struct {
	Model      string  `json:"model"`
	Latency    float64 `json:"latency"`
	ResponseID string  `json:"response_id"`
}

// Cost returns what all services spent together, in US dollars.
func (s Stats) Cost() float64 {
	var sum float64
	for _, id := range slices.Sorted(maps.Keys(s.UsageToMetrics)) {
		sum += s.UsageToMetrics[id].AccumulatedCost
	}
	return sum
}

// Tokens returns the tokens of all services together.
func (s Stats) Tokens() TokenUsage {
	var sum TokenUsage
	for _, m := range s.UsageToMetrics {
		sum = sum.plus(m.AccumulatedTokenUsage)
	}
	return sum
}

// Update returns the value of the state update that records one more call of
// the service usage.
func (s Stats) Update(usage string, c Cost, l ResponseLatency, t TokenUsage) Stats {
	totals := s.Totals()
	m := totals.UsageToMetrics[usage]
	m.ModelName = t.Model
	m.AccumulatedCost += c.Cost
	m.AccumulatedTokenUsage = m.AccumulatedTokenUsage.plus(t)
	m.Costs, m.ResponseLatencies, m.TokenUsages = []Cost{c}, []ResponseLatency{l}, []TokenUsage{t}
	totals.UsageToMetrics[usage] = m
	return totals
}

// Totals returns the stats with empty lists: what an update that records no
// call carries.
func (s Stats) Totals() Stats {
	totals := Stats{UsageToMetrics: make(map[string]Metrics, len(s.UsageToMetrics)+1)}
	for id, m := range s.UsageToMetrics {
		m.Costs, m.ResponseLatencies, m.TokenUsages = []Cost{}, []ResponseLatency{}, []TokenUsage{}
		totals.UsageToMetrics[id] = m
	}
	return totals
}

// plus adds counts; what describes the last call is taken from u.
func (t TokenUsage) plus(u TokenUsage) TokenUsage {
	return TokenUsage{
		Model:            u.Model,
		PromptTokens:     t.PromptTokens + u.PromptTokens,
		CompletionTokens: t.CompletionTokens + u.CompletionTokens,
		CacheReadTokens:  t.CacheReadTokens + u.CacheReadTokens,
		CacheWriteTokens: t.CacheWriteTokens + u.CacheWriteTokens,
		ReasoningTokens:  t.ReasoningTokens + u.ReasoningTokens,
		ContextWindow:    max(t.ContextWindow, u.ContextWindow),
		PerTurnToken:     u.PerTurnToken,
		ResponseID:       u.ResponseID,
	}
}

// merge folds an update into the stats: its totals replace ours, its lists
// are joined to ours, services that it does not name are gone.
func (s Stats) merge(value json.RawMessage) Stats {
	var up Stats
	if json.Unmarshal(value, &up) != nil {
		return s
	}
	for id, m := range up.UsageToMetrics {
		old := s.UsageToMetrics[id]
		m.Costs = append(old.Costs, m.Costs...)
		m.ResponseLatencies = append(old.ResponseLatencies, m.ResponseLatencies...)
		m.TokenUsages = append(old.TokenUsages, m.TokenUsages...)
		up.UsageToMetrics[id] = m
	}
	return up
}
