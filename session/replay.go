package session

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// ErrReplays refuses messages that would look like a part of the recording.
var ErrReplays = fault.New(fault.Conflict, "the conversation replays a recording").Hint("wait for its end, or pause it")

// Replay runs a recorded trajectory again: it sends the user messages and repeats the actions,
// without a model. It returns at the end of the trajectory, or when a run does not finish, for
// which see the State. Called again, it continues a replay that was cut off, even by the end
// of the process. Invalid for a trajectory without a user message, Conflict while the
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
	c.replaying.next()
	defer func() {
		err = errors.Join(err, w.SetAgent(w.agent))
		c.replaying.end()
	}()
	runToEnd := func() error {
		if err := c.Run(ctx); err != nil {
			return err
		}
		c.replaying.next()
		return c.Wait(ctx)
	}
	for {
		if w.State().Status == state.Running { // an earlier replay was cut off
			if err := runToEnd(); err != nil {
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
		if err := runToEnd(); err != nil {
			return err
		}
	}
}

// EndReplay ends the conversation in an error because its replay cannot continue. Conflict if
// the conversation runs.
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

// replayTurn lets messages wait between two runs of a replay.
type replayTurn struct {
	// changed is nil while no replay is at work; the channel is closed by the next turn.
	changed atomic.Pointer[chan struct{}]
}

// active reports whether a replay is at work.
func (r *replayTurn) active() bool { return r.changed.Load() != nil }

// next begins a turn and wakes the waiting messages.
func (r *replayTurn) next() {
	c := make(chan struct{})
	r.set(&c)
}

// end ends the replay.
func (r *replayTurn) end() { r.set(nil) }

func (r *replayTurn) set(next *chan struct{}) {
	if before := r.changed.Swap(next); before != nil {
		close(*before)
	}
}

// wait returns ErrReplays while a run of the replay is at work. Between two runs, which is a
// moment, it waits for the next one or the end.
func (r *replayTurn) wait(ctx context.Context, w *worker) error {
	for {
		changed := r.changed.Load()
		switch {
		case changed == nil:
			return nil
		case w.State().Status == state.Running:
			return ErrReplays
		}
		select {
		case <-*changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
