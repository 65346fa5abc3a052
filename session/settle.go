package session

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// Settle returns when no action of a conversation is at work, or when ctx ends, which is no
// error.
func (s *Scope) Settle(ctx context.Context, id event.ConversationID) error {
	st, err := s.Events(ctx, id)
	if err != nil {
		return err
	}
	info, err := st.Info(ctx, id)
	if err != nil || state.Status(info.Status) != state.Running {
		return err
	}
	last, err := st.Last(ctx, id)
	if err != nil {
		return err
	}
	c, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	at := func() (bool, error) {
		now, err := c.State(ctx)
		return err != nil || len(now.Pending) == 0 || now.Status != state.Running, err
	}
	settled, err := at()
	if settled || err != nil {
		return err
	}
	for _, err := range st.Follow(ctx, id, last+1) {
		if err == nil {
			settled, err = at()
		}
		if ctx.Err() != nil {
			return nil // it has waited for long enough
		}
		if settled || err != nil {
			return err
		}
	}
	return nil
}
