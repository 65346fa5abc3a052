package llm

import (
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
)

// Metrics counts the use and the cost of the calls of one service (usage id), in the
// JSON form of the wire (docs/openhands/sdk-wire.md section 5.2). It is not safe for
// concurrent use.
type Metrics struct {
	ModelName             string                   `json:"model_name"`
	AccumulatedCost       float64                  `json:"accumulated_cost"`
	MaxBudgetPerTask      *float64                 `json:"max_budget_per_task"`
	AccumulatedTokenUsage *TokenUsage              `json:"accumulated_token_usage"`
	Costs                 event.List[CostEntry]    `json:"costs"`
	ResponseLatencies     event.List[LatencyEntry] `json:"response_latencies"`
	TokenUsages           event.List[TokenUsage]   `json:"token_usages"`
}

// TokenUsage counts tokens of one call, or of all.
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

// CostEntry is the cost of one call in US dollars. Timestamp is in seconds
// since 1970.
type CostEntry struct {
	Model     string  `json:"model"`
	Cost      float64 `json:"cost"`
	Timestamp float64 `json:"timestamp"`
}

// LatencyEntry is the duration of one call in seconds. The last two fields are
// Deft's own; OpenHands' clients ignore unknown fields of metrics.
type LatencyEntry struct {
	Model      string  `json:"model"`
	Latency    float64 `json:"latency"`
	ResponseID string  `json:"response_id"`
	// FirstToken is the time to the first piece of the answer; 0 if it was not
	// streamed.
	FirstToken float64 `json:"first_token,omitempty"`
	// AnsweredBy is the name that the provider reports for the model, if it
	// differs from Model: a dated version, or a router's choice.
	AnsweredBy string `json:"answered_by,omitempty"`
}

// Add adds one answer to a call of the model described by info. An unknown cost
// adds nothing, and no entry to Costs. If another model answered, the answer
// counts for that one.
func (m *Metrics) Add(info Info, r *Response, at time.Time) {
	info = r.By(info)
	m.ModelName = info.Name
	u := TokenUsage{
		Model: info.Name, PromptTokens: r.Usage.Prompt, CompletionTokens: r.Usage.Output,
		CacheReadTokens: r.Usage.CacheRead, CacheWriteTokens: r.Usage.CacheWrite,
		ReasoningTokens: r.Usage.Reasoning, ContextWindow: info.ContextWindow,
		PerTurnToken: r.Usage.Prompt + r.Usage.Output, ResponseID: r.ID,
	}
	m.TokenUsages = append(m.TokenUsages, u)
	if m.AccumulatedTokenUsage == nil {
		m.AccumulatedTokenUsage = &TokenUsage{}
	}
	m.AccumulatedTokenUsage.add(u)
	m.ResponseLatencies = append(m.ResponseLatencies, LatencyEntry{
		Model: info.Name, Latency: r.Latency.Seconds(), ResponseID: r.ID,
		FirstToken: r.FirstByte.Seconds(), AnsweredBy: answeredBy(info.Name, r.Model),
	})
	if r.CostKnown {
		m.AccumulatedCost += r.Cost
		m.Costs = append(m.Costs, CostEntry{Model: info.Name, Cost: r.Cost, Timestamp: float64(at.UnixMicro()) / 1e6})
	}
}

// answeredBy returns the provider's name of the model that answered, or "" if
// it equals the requested one.
func answeredBy(asked, answered string) string {
	if asked == answered || strings.HasSuffix(asked, "/"+answered) {
		return ""
	}
	return answered
}

// add sums the counters; the descriptive fields (window, turn, id) take the latest
// value.
func (a *TokenUsage) add(u TokenUsage) {
	a.Model, a.ContextWindow, a.PerTurnToken = u.Model, u.ContextWindow, u.PerTurnToken
	a.PromptTokens += u.PromptTokens
	a.CompletionTokens += u.CompletionTokens
	a.CacheReadTokens += u.CacheReadTokens
	a.CacheWriteTokens += u.CacheWriteTokens
	a.ReasoningTokens += u.ReasoningTokens
}

// Clone returns a copy that later changes do not affect.
func (m *Metrics) Clone() Metrics {
	c := *m
	if m.AccumulatedTokenUsage != nil {
		u := *m.AccumulatedTokenUsage
		c.AccumulatedTokenUsage = &u
	}
	c.Costs = m.Costs[:len(m.Costs):len(m.Costs)]
	c.ResponseLatencies = m.ResponseLatencies[:len(m.ResponseLatencies):len(m.ResponseLatencies)]
	c.TokenUsages = m.TokenUsages[:len(m.TokenUsages):len(m.TokenUsages)]
	return c
}
