package session

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// ErrReplays refuses what would be taken for a part of the recording.
var ErrReplays = fault.New(fault.Conflict, "the conversation replays what was recorded").Hint("wait for its end, or pause it")

// Replay runs a recorded trajectory again: its user messages are sent, and its
// actions are done anew, without a model. It returns when the trajectory is
// through, or when one of its runs does not finish, for which see the State. A
// replay that was cut off, by the end of the process too, goes on where it was when it
// is called again. Invalid for a trajectory without a user message, Conflict while the
// conversation runs.
func (c *Conversation) Replay(ctx context.Context, trajectory []event.Event) (err error) {
	w, err := c.work(ctx)
	if err != nil {
		return err
	}
	p, err := controller.NewReplay(trajectory, w.agent)
	if err != nil {
		return err
	}
	if err := w.SetAgent(p); err != nil {
		return err
	}
	c.replayMoved(true)
	defer func() {
		err = errors.Join(err, w.SetAgent(w.agent))
		c.replayMoved(false)
	}()
	for {
		if w.State().Status == state.Running { // an earlier replay was cut off
			if err := c.runToEnd(ctx); err != nil {
				return err
			}
		}
		if s := w.State().Status; s != state.Finished && s != state.Idle {
			return nil
		}
		more, err := p.Next(ctx, w.Controller)
		if err != nil || !more {
			return err
		}
		if err := c.runToEnd(ctx); err != nil {
			return err
		}
	}
}

// runToEnd is Run and Wait in a replay.
func (c *Conversation) runToEnd(ctx context.Context) error {
	if err := c.Run(ctx); err != nil {
		return err
	}
	c.replayMoved(true)
	return c.Wait(ctx)
}

// replayMoved wakes those that wait in notInReplay. more says whether the replay is
// still at work.
func (c *Conversation) replayMoved(more bool) {
	var next *chan struct{}
	if more {
		moved := make(chan struct{})
		next = &moved
	}
	if before := c.replaying.Swap(next); before != nil {
		close(*before)
	}
}

// notInReplay returns ErrReplays while a replay runs. Between two of its runs, which is for a
// moment, it waits for what comes: the next one, or the end.
func (c *Conversation) notInReplay(ctx context.Context, w *worker) error {
	for {
		moved := c.replaying.Load()
		switch {
		case moved == nil:
			return nil
		case w.State().Status == state.Running:
			return ErrReplays
		}
		select {
		case <-*moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// EndReplay records that a replay, which nothing works on, cannot go on: the conversation ends
// in an error with the cause. Conflict if the conversation runs.
func (c *Conversation) EndReplay(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	e := c.m.hold(c.id)
	live := e.c
	defer func() { c.m.release(c.id, e, live) }()
	if live != nil && live != c {
		return errEvicted
	}
	if err := c.close(ctx, true); err != nil {
		return err
	}
	return c.recordFailure(ctx, "ReplayFailed", cause)
}
