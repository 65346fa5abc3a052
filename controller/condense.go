package controller

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// Condense asks for a condensation: at the next step of a run, or now where
// nothing runs. A request that is unanswered is not repeated, so a call that
// ended in [ErrClosed] can be made again on a new controller. The error is of
// kind Context if nothing can be left out, Canceled if the user stopped it, and
// [ErrClosed] after [Controller.Close]. A request that fails or is stopped is over:
// it is answered with a Condensation that forgets nothing, and any other error than
// of kind Context is recorded for the user. Only a request whose ctx has ended stays.
func (c *Controller) Condense(ctx context.Context) error {
	err := c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
		if now.CondensationRequested {
			return nil, nil
		}
		c.condensationAsked = true
		return []event.Event{&event.CondensationRequest{Base: event.NewBase(event.SourceEnvironment)}}, nil
	})
	if err != nil {
		return err
	}
	r, err := c.claim(RunOptions{}, condensing)
	if errors.Is(err, ErrRunning) {
		return nil // the run does it
	}
	if err != nil {
		return err
	}
	defer c.condensed(r)
	s := c.State()
	if !s.CondensationRequested {
		return nil // a run has done it meanwhile
	}
	err = c.step(ctx, r, s)
	switch {
	case err == nil && !c.State().CondensationRequested: // also where the user stopped it too late
		return nil
	case r.stopped() != goOn:
		if err := c.append(ctx, nothingCondensed()); err != nil {
			return err
		}
		return errCondensationStopped
	case err == nil, ctx.Err() != nil, fault.Is(err, fault.Context):
		return err
	}
	return errors.Join(err, c.append(ctx, errorEvent(err)))
}

// errCondensationStopped ends a condensation that the user stopped.
var errCondensationStopped = fault.New(fault.Canceled, "the condensation was stopped")

// nothingCondensed answers a request for a condensation that was not made. The
// reference knows no other answer (View.append_event of openhands-sdk 1.43): without
// one, each later step would try again.
func nothingCondensed() event.Event {
	return &event.Condensation{Base: event.NewBase(event.SourceEnvironment)}
}

// goesOn reports whether a run goes on after a step that failed: where the step was the
// condensation that the user asked for, which the agent does not need. The user gets
// the error to read.
func (c *Controller) goesOn(ctx context.Context, s *state.State, failed error) bool {
	if !s.CondensationRequested || ctx.Err() != nil {
		return false
	}
	c.mu.Lock()
	asked := c.condensationAsked
	c.condensationAsked = false
	c.mu.Unlock()
	if !asked {
		return false
	}
	if fault.Is(failed, fault.Context) {
		failed = fault.Wrap(failed, fault.Context, "the history cannot be summarised")
	}
	c.cfg.Log.Warn("a condensation on request failed", "conversation", c.cfg.ID, "kind", fault.KindOf(failed), "err", failed)
	return c.append(ctx, errorEvent(failed)) == nil
}

// codeNotCondensed is the code of the event for a condenser that fails while the run goes on.
const codeNotCondensed = "CondensationFailed"

// notCondensed tells the user that a step has gone on with the whole history, since the condenser
// has failed: once, until it succeeds again. The reference logs that only.
func (c *Controller) notCondensed(t *pendingStep) []event.Event {
	if t.uncondensed == nil {
		if slices.ContainsFunc(t.evs, func(ev event.Event) bool { _, is := ev.(*event.Condensation); return is }) {
			c.toldUncondensed = false
		}
		return nil
	}
	if c.toldUncondensed {
		return nil
	}
	c.toldUncondensed = true
	err := t.uncondensed
	c.cfg.Log.Warn("the history is not condensed", "conversation", c.cfg.ID, "kind", fault.KindOf(err), "err", err)
	ev := errorEvent(err)
	ev.Code, ev.Classification.Retryable, ev.Classification.UserAction = codeNotCondensed, false, "settings"
	ev.Detail = "The history was not shortened, and the run goes on with all of it; each step tries again: " + ev.Detail
	return []event.Event{ev}
}

// runAfter has the run of a message follow the condensation r. The first message gets
// work, which waits for the condensation; the run answers the others too. ok is false
// if r is over.
func (c *Controller) runAfter(r *run, o RunOptions) (work func(context.Context) error, ok bool, err error) {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	if c.run != r {
		return nil, false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != condensing {
		return nil, false, nil
	}
	if !r.followed {
		if c.cfg.Permit != nil {
			if r.release, err = c.cfg.Permit(); err != nil {
				r.release = func() {}
				return nil, true, err
			}
		}
		r.o, r.followed = o, true
		work = func(ctx context.Context) error { return c.follow(ctx, r) }
	}
	r.wanted = answer
	return work, true, nil
}

// follow runs after a condensation, unless the user has stopped the run.
func (c *Controller) follow(ctx context.Context, r *run) error {
	select {
	case <-r.condensed:
	case <-ctx.Done():
		if r.unfollowed() {
			return ctx.Err()
		}
		return c.broken(ctx, r, ctx.Err())
	}
	if r.unfollowed() {
		return nil
	}
	work, err := c.begin(ctx, r)
	if err != nil {
		return err
	}
	return work(ctx)
}

// unfollowed reports whether no run comes after a condensation; if it goes on still,
// none will come.
func (r *run) unfollowed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != condensing {
		return false
	}
	r.wanted = nothing
	return true
}

// condensed ends a condensation on request: it becomes the run that follows, or is over.
func (c *Controller) condensed(r *run) {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	r.mu.Lock()
	follows := r.wanted != nothing
	if follows {
		r.phase, r.stopping, r.wanted = starting, goOn, nothing
	}
	r.mu.Unlock()
	close(r.condensed)
	if !follows {
		c.end(r)
	}
}

// waitCondensed returns when a condensation on request is over.
func (r *run) waitCondensed(ctx context.Context) error {
	select {
	case <-r.condensed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
