package conversations

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

// Demo is a recorded session, which is replayed with real tools and without a model.
type Demo struct {
	Title string
	// Unpack writes the repository of the session into a directory, and returns the
	// session as it would be there.
	Unpack func(dir string) ([]event.Event, error)
}

// StartDemo starts a conversation that replays the recorded session in a new sandbox, and
// returns while it is at work. Unsupported if there is no recording.
func (s *Service) StartDemo(ctx context.Context, owner session.Principal) (*Info, error) {
	if s.o.Demo == nil {
		return nil, fault.New(fault.Unsupported, "this server has no demo")
	}
	return s.startReplay(ctx, owner, s.o.Demo.Title, func(c *session.Conversation) ([]event.Event, error) {
		return s.o.Demo.Unpack(c.Workspace())
	})
}
