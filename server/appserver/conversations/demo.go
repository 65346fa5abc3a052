package conversations

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
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
// returns while it is at work. Unsupported if there is no recording, Conflict where
// workspaces are not on this machine.
func (s *Service) StartDemo(ctx context.Context, owner identity.Tenant) (*Info, error) {
	if s.o.Demo == nil {
		return nil, fault.New(fault.Unsupported, "this server has no demo")
	}
	if s.o.Sandboxes.Elsewhere() {
		return nil, fault.New(fault.Conflict, "the demo cannot be shown: its repository is on this server, and the workspaces of sandboxes are elsewhere")
	}
	return s.startReplay(ctx, owner, s.o.Demo.Title, func(c *session.Conversation) ([]event.Event, error) {
		return s.o.Demo.Unpack(c.Workspace())
	})
}
