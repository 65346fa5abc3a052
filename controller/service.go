package controller

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// Service returns the model of a service for calls outside of the loop, such as a
// title or a judgement. Their use is counted as the conversation's once done is
// called, but does not count as the context of the agent's model.
func (c *Controller) Service(usage string) (m llm.Model, done func(context.Context) error) {
	t := &meter{cfg: &c.cfg, aside: true}
	return t.model(usage), func(ctx context.Context) error { return c.appendWith(ctx, t.record) }
}

// CountAs records that the usage under a name has come to the totals of m, whose lists
// are ignored: another conversation has spent it for this one. It records nothing if that
// is known already.
func (c *Controller) CountAs(ctx context.Context, usage string, m llm.Metrics) error {
	return c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
		stats, changed := now.Stats.WithTotals(usage, m)
		if !changed {
			return nil, nil
		}
		stats.SetBudget(c.cfg.MaxCost)
		return []event.Event{update(state.KeyStats, stats)}, nil
	})
}

// RecordBudget records the conversation's limit with the totals of its calls, if there are any.
func (c *Controller) RecordBudget(ctx context.Context) error {
	return c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
		if len(now.Stats.UsageToMetrics) == 0 {
			return nil, nil
		}
		stats := now.Stats.Totals()
		stats.SetBudget(c.cfg.MaxCost)
		return []event.Event{update(state.KeyStats, stats)}, nil
	})
}
