package v0

import (
	"context"
	"net/http"
	"time"
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
	ctx, cancel := context.WithTimeout(r.Context(), settleTime)
	defer cancel()
	if err := s.o.Conversations.Scope(owner(r)).Settle(ctx, id); err != nil {
		return err
	}
	return r.Context().Err()
}
