package conversations

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/worktree"
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
	spec, err := s.o.Settings.Launch(ctx, owner, "", "", "")
	if err != nil {
		return nil, err
	}
	b, err := s.o.Sandboxes.Create(ctx, owner, "")
	if err != nil {
		return nil, err
	}
	scope := s.o.Sandboxes.Scope(b)
	spec.ID, spec.Title, spec.Autotitle = event.NewConversationID(), s.o.Demo.Title, false
	if err := s.replay(ctx, scope, *spec); err != nil {
		if gone := s.o.Sandboxes.Delete(context.WithoutCancel(ctx), owner, b.ID); gone != nil {
			s.o.Log.Warn("the sandbox of a demo that was not started is left", "sandbox", b.ID, "err", gone)
		}
		return nil, err
	}
	return s.One(ctx, owner, spec.ID)
}

func (s *Service) replay(ctx context.Context, scope *session.Scope, spec session.Spec) error {
	c, _, err := scope.Create(ctx, spec)
	if err != nil {
		return err
	}
	recorded, err := s.o.Demo.Unpack(c.Workspace())
	if err != nil {
		return err
	}
	if err := worktree.Init(ctx, c.Workspace()); err != nil { // it works without, but shows no changes
		s.o.Log.Warn("make the workspace a git repository", "dir", c.Workspace(), "err", err)
	}
	s.working.Go(func() {
		if err := c.Replay(s.ctx, recorded); err != nil && s.ctx.Err() == nil {
			s.o.Log.Warn("the demo has ended early", "conversation", spec.ID, "err", err)
		}
	})
	return nil
}
