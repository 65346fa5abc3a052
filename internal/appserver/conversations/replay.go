package conversations

import (
	"context"
	"io"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/session"
)

// Replay starts a conversation that sends the user messages of a recorded one and does its
// actions anew, with real tools and without a model, in an empty workspace of a new
// sandbox. It returns while that is at work. Invalid for what cannot be replayed.
func (s *Service) Replay(ctx context.Context, owner session.Principal, title string, r *io.SectionReader) (*Info, error) {
	recorded, err := s.o.Trajectories.Read(r)
	if err == nil {
		err = controller.CheckReplay(recorded)
	}
	if err == nil {
		err = s.mayRun(ctx, owner)
	}
	if err != nil {
		return nil, err
	}
	return s.startReplay(ctx, owner, title, func(c *session.Conversation) ([]event.Event, error) {
		return controller.Moved(recorded, controller.RecordedWorkspace(recorded), c.Workspace())
	})
}

// startReplay starts a conversation in a new sandbox that replays what prepare returns for
// its workspace.
func (s *Service) startReplay(ctx context.Context, owner session.Principal, title string, prepare func(c *session.Conversation) ([]event.Event, error)) (*Info, error) {
	spec, err := s.o.Settings.Launch(ctx, owner, "", "", "")
	if err != nil {
		return nil, err
	}
	b, err := s.o.Sandboxes.Create(ctx, owner, "")
	if err != nil {
		return nil, err
	}
	scope := s.o.Sandboxes.Scope(b)
	spec.ID, spec.Title, spec.Autotitle = event.NewConversationID(), title, false
	if err := s.replay(ctx, scope, *spec, prepare); err != nil {
		if gone := s.o.Sandboxes.Delete(context.WithoutCancel(ctx), owner, b.ID); gone != nil {
			s.o.Log.Warn("the sandbox of a replay that was not started is left", "sandbox", b.ID, "err", gone)
		}
		return nil, err
	}
	return s.One(ctx, owner, spec.ID)
}

func (s *Service) replay(ctx context.Context, scope *session.Scope, spec session.Spec, prepare func(c *session.Conversation) ([]event.Event, error)) error {
	c, _, err := scope.Create(ctx, spec)
	if err != nil {
		return err
	}
	recorded, err := prepare(c)
	if err != nil {
		return err
	}
	inside, err := c.WorkspaceInside()
	if err != nil {
		return err
	}
	if !inside {
		if err := worktree.Init(ctx, c.Workspace()); err != nil { // it works without, but shows no changes
			s.o.Log.Warn("make the workspace a git repository", "dir", c.Workspace(), "err", err)
		}
	}
	s.working.Go(func() {
		if err := c.Replay(s.ctx, recorded); err != nil && s.ctx.Err() == nil {
			s.o.Log.Warn("the replay has ended early", "conversation", spec.ID, "err", err)
		}
	})
	return nil
}
