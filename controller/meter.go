package controller

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// minOutput is the least room for an answer that a call is worth making with.
const minOutput = 2048

// meter counts the LLM calls of one step and refuses those that could exceed
// the spending limit.
type meter struct {
	cfg   *Config
	mu    sync.Mutex
	spent float64 // dollars, by the whole conversation so far
	calls []callRecord
}

type callRecord struct {
	usage string
	info  llm.Info
	resp  *llm.Response
	at    time.Time
}

// metered is a model whose calls go through a meter.
type metered struct {
	llm.Model
	usage string
	meter *meter
}

// Generate implements [llm.Model].
func (m *metered) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	if err := m.meter.admit(m.Info(), &r); err != nil {
		return nil, err
	}
	resp, err := m.Model.Generate(ctx, r, onDelta)
	if err != nil {
		return nil, err
	}
	m.meter.mu.Lock()
	defer m.meter.mu.Unlock()
	m.meter.calls = append(m.meter.calls, callRecord{m.usage, m.Info(), resp, time.Now()})
	m.meter.spent += resp.Cost
	return resp, nil
}

// admit refuses a call that could exceed the limit. Where a shorter answer
// would not, it bounds the answer instead, as long as minOutput remains.
func (m *meter) admit(info llm.Info, r *llm.Request) error {
	if m.cfg.MaxCost <= 0 {
		return nil
	}
	if !info.Price.Known {
		return fault.New(fault.Limit, "the price of "+info.Name+" is not known, so a spending limit cannot be kept").
			Hint("give the model's prices, or run without --max-cost")
	}
	m.mu.Lock()
	left := m.cfg.MaxCost - m.spent
	m.mu.Unlock()
	in := float64(llm.EstimateTokens(r.Messages, r.Tools)) * math.Max(info.Price.Input, info.Price.CacheWrite) / 1e6
	room := math.MaxInt32
	if info.Price.Output > 0 {
		room = int(math.Max(0, math.Min(float64(room), (left-in)*1e6/info.Price.Output)))
	}
	most := r.MaxOutputTokens
	if most == 0 {
		most = info.MaxOutput
	}
	if left <= in || room < minOutput && (most == 0 || room < most) {
		return fault.New(fault.Limit, fmt.Sprintf(
			"the next call could cost more than what is left of the spending limit ($%.4f of $%.2f)", math.Max(left, 0), m.cfg.MaxCost)).
			Hint("raise --max-cost and resume")
	}
	r.MaxOutputTokens = room
	if most != 0 {
		r.MaxOutputTokens = min(room, most)
	}
	return nil
}

// record returns the state updates for the calls that were made.
func (m *meter) record(now *state.State) ([]event.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stats := now.Stats
	var evs []event.Event
	for _, c := range m.calls {
		u := c.resp.Usage
		stats = stats.Update(c.usage,
			state.Cost{Model: c.resp.Model, Cost: c.resp.Cost, Timestamp: float64(c.at.UnixMicro()) / 1e6},
			state.ResponseLatency{Model: c.resp.Model, Latency: c.resp.Latency.Seconds(), ResponseID: c.resp.ID},
			state.TokenUsage{
				Model: c.resp.Model, PromptTokens: u.Prompt, CompletionTokens: u.Output, CacheReadTokens: u.CacheRead,
				CacheWriteTokens: u.CacheWrite, ReasoningTokens: u.Reasoning, ContextWindow: c.info.ContextWindow,
				PerTurnToken: u.Prompt + u.Output, ResponseID: c.resp.ID,
			})
		evs = append(evs, update(state.KeyStats, stats))
	}
	m.calls = nil
	return evs, nil
}
