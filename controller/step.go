package controller

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// pendingStep is one step of the agent, under way or done.
type pendingStep struct {
	state  *state.State // that the agent was shown
	ctx    context.Context
	cancel context.CancelFunc
	meter  *meter
	done   chan struct{} // closed when evs and err are there
	evs    []event.Event
	err    error
	// uncondensed is why the step has gone on with the whole history; nil if it did not have to.
	uncondensed error
}

// beginStep lets the agent begin a step; nil if the run is to stop. Either
// [Controller.finishStep] or [pendingStep.discard] must follow.
func (c *Controller) beginStep(ctx context.Context, r *run, s *state.State) *pendingStep {
	t := &pendingStep{state: s, meter: &meter{cfg: &c.cfg}, done: make(chan struct{})}
	if t.ctx, t.cancel = r.cancelable(ctx); t.ctx.Err() != nil {
		t.cancel()
		return nil
	}
	go func() {
		defer close(t.done)
		t.evs, t.err = c.cfg.Agent.Step(t.ctx, agent.Turn{
			State: s, LLM: t.meter.model, Delta: c.cfg.OnDelta, Session: c.cfg.ID,
			Emit:  func(evs ...event.Event) error { return c.append(ctx, c.masked(evs)...) },
			Spend: t.meter.spend, MaxCost: c.cfg.MaxCost,
			Uncondensed: func(err error) { t.uncondensed = err },
		})
	}()
	return t
}

// discard gives a step up.
func (t *pendingStep) discard() {
	if t != nil {
		t.cancel()
		<-t.done
	}
}

// step takes one step.
func (c *Controller) step(ctx context.Context, r *run, s *state.State) error {
	t := c.beginStep(ctx, r, s)
	if t == nil {
		return nil
	}
	return c.finishStep(ctx, r, t)
}

// finishStep waits for the agent's answer and appends it in one piece: events,
// their cost, and the status if it changes.
func (c *Controller) finishStep(ctx context.Context, r *run, t *pendingStep) error {
	defer t.cancel()
	<-t.done
	err := t.err
	if err == nil {
		err = c.prepare(t.ctx, t.evs)
	}
	if err != nil {
		stopped := r.stopped() != goOn && t.ctx.Err() != nil
		drop := t.state.CondensationRequested && ctx.Err() == nil && !stopped
		failed := c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
			bill, err := t.meter.record(now)
			if drop && err == nil {
				bill = append(bill, nothingCondensed())
			}
			return bill, err
		})
		if stopped {
			return failed
		}
		return errors.Join(err, failed)
	}
	batch, notes, wait := c.review(t.ctx, t.evs)
	return c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
		bill, err := t.meter.record(now)
		if err != nil {
			return nil, err
		}
		c.newActions.set(t.evs)
		c.answered = t.state.LastUserMessage
		if t.state.CondensationRequested {
			c.condensationAsked = false
		}
		out := slices.Concat(c.masked(c.notCondensed(t)), c.masked(t.evs), notes, bill)
		// A message that came while the model wrote is taken in first: nothing ends, and
		// waiting actions are superseded (docs/openhands/sdk-wire-1.58.md section B.5).
		news := now.LastUserMessage != t.state.LastUserMessage
		switch {
		case wait && news:
			out = append(out, rejections(batch, superseded)...)
		case wait:
			out = append(out, status(state.Confirming))
		case replied(t.evs) && !news:
			out = append(out, c.ends(t.evs[len(t.evs)-1].Meta().ID))
		}
		return out, nil
	})
}

// ahead begins the next step while its base is being stored: the disk and the
// model are waited for at the same time. s is the state as it will be. If it
// cannot be stored the step is discarded, so no event of the agent ever builds on
// one that did not happen. Nil where no ordinary step follows.
func (c *Controller) ahead(ctx context.Context, r *run, s *state.State) *pendingStep {
	if agent.Acts(c.cfg.Agent) || s.Status != state.Running || len(s.Pending) > 0 || ctx.Err() != nil || c.hooksEnding(s) != "" || c.cfg.Stuck.check(s.View) != fine {
		return nil
	}
	return c.beginStep(ctx, r, s)
}
