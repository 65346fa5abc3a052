package sandboxes

import (
	"context"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

// Isolation isolates conversations: containers and groups of processes, which outlive
// the workers of a conversation, and this process.
type Isolation interface {
	// SandboxStates returns the states of all conversations' sandboxes that run or are
	// paused.
	SandboxStates(ctx context.Context, p session.Placement) (map[event.ConversationID]sandbox.Status, error)
	// StopSandbox ends the sandbox of a conversation, if one runs or is paused.
	StopSandbox(ctx context.Context, p session.Placement, id event.ConversationID) error
}

// adoptTime bounds the search for sandboxes that an earlier server has paused.
const adoptTime = 20 * time.Second

// Adopt has the containers that an earlier server has paused end when they have been paused
// for [session.DefaultPausedTTL]. Where they cannot be listed it says so in the log: the server
// works without.
func (s *Service) Adopt(ctx context.Context) {
	if s.o.Isolation == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, adoptTime)
	defer cancel()
	all, err := s.o.Isolation.SandboxStates(limited, session.Placement{})
	if err != nil && ctx.Err() == nil {
		s.o.Log.Warn("look for paused containers", "err", err, "hint", fault.HintOf(err))
	}
	for id, status := range all {
		if status.State == sandbox.Paused {
			s.o.Sessions.AddPaused(id, func(ctx context.Context) error { return s.stop(ctx, id) })
		}
	}
}

// release interrupts a conversation's work and ends its processes, also in a
// container that is paused, and processes that an earlier server has left.
func (s *Service) release(ctx context.Context, c event.ConversationID) error {
	return s.o.Sessions.Release(ctx, c, func(ctx context.Context) error { return s.stop(ctx, c) })
}

func (s *Service) stop(ctx context.Context, c event.ConversationID) error {
	if s.o.Isolation == nil {
		return nil
	}
	return s.o.Isolation.StopSandbox(ctx, session.Placement{}, c)
}
