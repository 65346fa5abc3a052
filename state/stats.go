package state

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/deft-dev/deft/llm"
)

// Stats are the metrics of a conversation by usage id ("agent", "condenser"
// …), in their wire form (docs/openhands/sdk-wire.md section 5.2).
//
// A stats update carries the totals of every service, and in the lists only
// the call that caused it; the fold joins the lists.
type Stats struct {
	UsageToMetrics map[string]llm.Metrics `json:"usage_to_metrics"`
}

// TaskPrefix begins the usage ids under which a conversation counts the usage of its
// sub-agents, each by its conversation's id. Those calls are in the stats of their own
// conversations, too.
const TaskPrefix = "task:"

// Cost returns the spending of all services together, in US dollars.
func (s Stats) Cost() float64 {
	var sum float64
	for _, id := range slices.Sorted(maps.Keys(s.UsageToMetrics)) {
		sum += s.UsageToMetrics[id].AccumulatedCost
	}
	return sum
}

// Tokens returns the tokens of all services together.
func (s Stats) Tokens() llm.TokenUsage {
	var sum llm.TokenUsage
	for _, m := range s.UsageToMetrics {
		if u := m.AccumulatedTokenUsage; u != nil {
			sum.PromptTokens += u.PromptTokens
			sum.CompletionTokens += u.CompletionTokens
			sum.CacheReadTokens += u.CacheReadTokens
			sum.CacheWriteTokens += u.CacheWriteTokens
			sum.ReasoningTokens += u.ReasoningTokens
		}
	}
	return sum
}

// Update returns the value of the state update that records one more call of
// the service usage.
func (s Stats) Update(usage string, info llm.Info, r *llm.Response, at time.Time) Stats {
	totals := s.Totals()
	m := totals.UsageToMetrics[usage]
	m.Add(info, r, at)
	totals.UsageToMetrics[usage] = m
	return totals
}

// UpdateAside is Update for a call that does not have the conversation as its history,
// such as one for a title: the tokens of the newest turn keep the values of the call
// before.
func (s Stats) UpdateAside(usage string, info llm.Info, r *llm.Response, at time.Time) Stats {
	totals := s.Update(usage, info, r, at)
	turn := 0
	if before := s.UsageToMetrics[usage].AccumulatedTokenUsage; before != nil {
		turn = before.PerTurnToken
	}
	totals.UsageToMetrics[usage].AccumulatedTokenUsage.PerTurnToken = turn
	return totals
}

// SetBudget records in all metrics the conversation's limit, in US dollars; 0 stands for
// no limit. It changes s, which must be a result of Update.
func (s Stats) SetBudget(limit float64) {
	var budget *float64
	if limit > 0 {
		budget = &limit
	}
	for id, m := range s.UsageToMetrics {
		m.MaxBudgetPerTask = budget
		s.UsageToMetrics[id] = m
	}
}

// Sum returns the totals of all services together, under the name of the model of one of
// them, without lists.
func (s Stats) Sum(named string) llm.Metrics {
	tokens := s.Tokens()
	sum := llm.Metrics{ModelName: s.UsageToMetrics[named].ModelName, AccumulatedCost: s.Cost(), AccumulatedTokenUsage: &tokens}
	tokens.Model = sum.ModelName
	return sum
}

// WithTotals returns the value of the state update that records the totals under a
// name, and whether they differ from the present ones.
func (s Stats) WithTotals(usage string, m llm.Metrics) (_ Stats, changed bool) {
	m = m.Clone()
	m.Costs, m.ResponseLatencies, m.TokenUsages = nil, nil, nil
	old := s.UsageToMetrics[usage]
	changed = old.ModelName != m.ModelName || old.AccumulatedCost != m.AccumulatedCost ||
		(old.AccumulatedTokenUsage == nil) != (m.AccumulatedTokenUsage == nil) ||
		m.AccumulatedTokenUsage != nil && *old.AccumulatedTokenUsage != *m.AccumulatedTokenUsage
	totals := s.Totals()
	totals.UsageToMetrics[usage] = m
	return totals, changed
}

// Totals returns the stats with empty lists, for an update that records no call.
func (s Stats) Totals() Stats {
	totals := Stats{UsageToMetrics: make(map[string]llm.Metrics, len(s.UsageToMetrics)+1)}
	for id, m := range s.UsageToMetrics {
		c := m.Clone()
		c.Costs, c.ResponseLatencies, c.TokenUsages = nil, nil, nil
		totals.UsageToMetrics[id] = c
	}
	return totals
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
