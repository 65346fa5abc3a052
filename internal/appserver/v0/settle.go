package v0

import (
	"context"
	"net/http"
	"time"

	"github.com/deft-dev/deft/state"
)

// settleTime is how long a request about changes waits for the agent's action to end.
const settleTime = 10 * time.Second

// settle returns when no action of a conversation is at work, or after settleTime. In the
// reference whatever asks the sandbox waits for the command that runs, and OpenHands' page
// relies on it: it asks for changes when a command begins, and not again when it has ended.
func (s *Service) settle(r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	st, err := s.o.Conversations.Scope(owner(r)).Events(r.Context(), id)
	if err != nil {
		return err
	}
	info, err := st.Info(r.Context(), id)
	if err != nil || state.Status(info.Status) != state.Running {
		return err
	}
	last, err := st.Last(r.Context(), id)
	if err != nil {
		return err
	}
	c, err := s.o.Conversations.Scope(owner(r)).Get(r.Context(), id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), settleTime)
	defer cancel()
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
			return r.Context().Err() // it has waited for long enough, or its client has gone
		}
		if settled || err != nil {
			return err
		}
	}
	return r.Context().Err()
}
