package session

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// Replay runs a recorded trajectory again: its user messages are sent, and its
// actions are done anew, without a model. It returns when the trajectory is
// through, or when one of its runs does not finish, for which see the State.
// Nothing else may run the conversation meanwhile. Invalid for a trajectory
// without a user message, Conflict while the conversation runs.
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
	defer func() { err = errors.Join(err, w.SetAgent(w.agent)) }()
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

// runToEnd is Run and Wait.
func (c *Conversation) runToEnd(ctx context.Context) error {
	if err := c.Run(ctx); err != nil {
		return err
	}
	return c.Wait(ctx)
}
