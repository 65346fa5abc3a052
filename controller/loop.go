package controller

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/state"
)

// loop takes steps until the run ends. next has begun already, or is nil.
func (c *Controller) loop(ctx context.Context, r *run, again bool, next *pendingStep) (err error) {
	defer func() { next.discard() }()
	for steps := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Also when the run is to stop: a step that is done counts, and its end
		// comes before the stop.
		if t := next; t != nil {
			next, again = nil, false // it begins only where nothing is pending
			if err := c.finishStep(ctx, r, t); err != nil && !c.goesOn(ctx, t.state, err) {
				return c.fail(ctx, r, err)
			}
			steps++
			continue
		}
		if how := r.stopped(); how != goOn {
			if c.State().Status != state.Running {
				return nil // it has come to its end before
			}
			return c.stopAs(ctx, how)
		}
		s := c.State()
		switch {
		case s.Status != state.Running:
			return nil
		case len(s.Pending) > 0:
			if next, err = c.execute(ctx, r, s.Pending, again, steps < c.cfg.MaxIterations); err != nil {
				return c.fail(ctx, r, err)
			}
			again = false
			continue
		case c.hooksEnding(s) != "":
			if err := c.askToStop(ctx, c.hooksEnding(s), again); err != nil {
				return c.fail(ctx, r, err)
			}
			again = false
			continue
		case agent.Acts(c.cfg.Agent) && c.cfg.MaxCost > 0 && s.Stats.Cost() >= c.cfg.MaxCost: // no model refuses
			return c.fail(ctx, r, fault.New(fault.Limit, fmt.Sprintf("the conversation has reached its limit of %.2f dollars", c.cfg.MaxCost)).
				Hint("raise the limit (--max-cost) to go on"))
		case steps >= c.cfg.MaxIterations:
			return c.fail(ctx, r, fault.New(fault.Limit, fmt.Sprintf("the run reached its limit of %d iterations", steps)).
				Hint("run it again to go on, or raise the limit (--max-iterations)").Because(errIterations))
		}
		again = false
		switch c.cfg.Stuck.check(s.View) {
		case nudge:
			if err := c.append(ctx, nudgeMessage()); err != nil {
				return err
			}
			continue
		case stuck:
			return c.stopStuck(ctx)
		}
		if err := c.step(ctx, r, s); err != nil && !c.goesOn(ctx, s, err) {
			return c.fail(ctx, r, err)
		}
		steps++
	}
}

// review asks whether the actions of an answer wait for the user. A lone
// finish or think never does.
func (c *Controller) review(ctx context.Context, evs []event.Event) (batch []*event.ActionEvent, notes []event.Event, wait bool) {
	if c.cfg.Review == nil {
		return nil, nil, false
	}
	for _, ev := range evs {
		if a, ok := ev.(*event.ActionEvent); ok && a.Action != nil {
			batch = append(batch, a)
		}
	}
	if len(batch) == 0 || harmless(batch) {
		return nil, nil, false
	}
	notes, wait = c.cfg.Review(ctx, batch)
	return batch, notes, wait
}

// masked returns the events without secrets.
func (c *Controller) masked(evs []event.Event) []event.Event {
	if c.cfg.Guard == nil {
		return evs
	}
	out := make([]event.Event, len(evs))
	for i, ev := range evs {
		out[i] = c.cfg.Guard.Mask(ev)
	}
	return out
}

// prepare announces to the Runtime, before its first actions become durable,
// that no action is pending.
func (c *Controller) prepare(ctx context.Context, evs []event.Event) error {
	p, ok := c.cfg.Runtime.(runtime.Preparer)
	if !ok || c.prepared {
		return nil
	}
	for _, ev := range evs {
		a, ok := ev.(*event.ActionEvent)
		if !ok {
			continue
		}
		if _, def := c.runtimeOf(a); def == nil || def.Local {
			continue
		}
		if err := p.Prepare(ctx); err != nil {
			return fmt.Errorf("prepare to run %s: %w", a.ToolName, err)
		}
		c.prepared = true
		return nil
	}
	return nil
}

// replied reports whether an answer ends with a message to the user.
func replied(evs []event.Event) bool {
	said := false
	for _, ev := range evs {
		if m, ok := ev.(*event.MessageEvent); ok {
			said = m.Source == event.SourceAgent
		}
	}
	return said
}

// harmless reports whether a batch is a lone finish or think, which never needs
// confirmation (docs/openhands/sdk-wire.md section 5.3).
func harmless(batch []*event.ActionEvent) bool {
	if len(batch) != 1 {
		return false
	}
	switch batch[0].Action.(type) {
	case *event.FinishAction, *event.ThinkAction:
		return true
	}
	return false
}

// stopAs records that the user stopped the run.
func (c *Controller) stopAs(ctx context.Context, how stop) error {
	var ev event.Event = &event.PauseEvent{Base: event.NewBase(event.SourceUser)}
	if how == interrupting {
		ev = &event.InterruptEvent{Base: event.NewBase(event.SourceUser)}
	}
	return c.append(ctx, ev, status(state.Paused))
}

// model returns the metered model of a service; see meter.
func (m *meter) model(usage string) llm.Model {
	counted := usage
	if m.cfg.CountedAs != nil {
		counted = m.cfg.CountedAs(usage)
	}
	return &metered{Model: m.cfg.LLM(usage), usage: counted, meter: m}
}
