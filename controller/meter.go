package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// meter counts the LLM calls of one step, or calls aside of the loop.
type meter struct {
	cfg   *Config
	aside bool
	mu    sync.Mutex
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
	resp, err := m.Model.Generate(ctx, r, onDelta)
	var answers []*llm.Response
	if e, ok := errors.AsType[*llm.Error](err); ok {
		answers = e.Discarded
	}
	if err == nil {
		answers = append(slices.Clone(resp.Discarded), resp)
	}
	m.meter.mu.Lock()
	defer m.meter.mu.Unlock()
	for _, answer := range answers {
		m.meter.calls = append(m.meter.calls, callRecord{m.usage, m.Info(), answer, time.Now()})
	}
	return resp, err
}

// spend counts what an agent has spent beside its models, as a call of its own service.
func (m *meter) spend(s agent.Spending) {
	usage := agent.UsageAgent
	if m.cfg.CountedAs != nil {
		usage = m.cfg.CountedAs(usage)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, callRecord{usage, s.Info, &s.Response, time.Now()})
}

// record returns the state updates for the calls that were made.
func (m *meter) record(now *state.State) ([]event.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stats := now.Stats
	var evs []event.Event
	for _, c := range m.calls {
		add := stats.Update
		if m.aside {
			add = stats.UpdateAside
		}
		stats = add(c.usage, c.info, c.resp, c.at)
		stats.SetBudget(m.cfg.MaxCost)
		evs = append(evs, update(state.KeyStats, stats))
	}
	m.calls = nil
	return evs, nil
}
