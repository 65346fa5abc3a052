package conversations

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// Continue returns a conversation to work with. A paused sandbox is resumed. One that was
// deleted is made anew with the files that were kept when it was deleted: from the archive
// of the workspace, or from a clone of the repository and a checkpoint. So is one that is
// lost.
func (s *Service) Continue(ctx context.Context, owner identity.Tenant, id event.ConversationID) (*session.Conversation, error) {
	c, err := s.Open(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	info, err := s.One(ctx, owner, id)
	switch {
	case err != nil:
		return c, err
	case info.In != nil && sandboxes.Local(*info.In):
		return c, isThere(*info.In)
	case info.Conversation.Sandbox == "", info.In == nil && s.wasLocal(c):
		return c, s.adopt(ctx, owner, c, info)
	}
	if info.In != nil && s.o.Sandboxes.StatusOf(ctx, *info.In) != sandboxes.Lost {
		return c, err
	}
	s.reviving.Lock()
	defer s.reviving.Unlock()
	if info.In != nil {
		if err := s.giveUp(ctx, owner, c, info); err != nil {
			return c, err
		}
		if c, err = s.Open(ctx, owner, id); err != nil { // it was released
			return c, err
		}
	}
	return c, s.revive(ctx, owner, c, info)
}

// giveUp forgets a sandbox that is lost. An archive of its workspace, which is of an earlier
// time, counts only if nothing was asked for since then.
func (s *Service) giveUp(ctx context.Context, owner identity.Tenant, c *session.Conversation, info *Info) error {
	now, err := s.o.Sandboxes.Get(ctx, owner, info.In.ID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil || s.o.Sandboxes.StatusOf(ctx, now) != sandboxes.Lost { // another request was faster
		return err
	}
	st, err := c.State(ctx)
	if err != nil {
		return err
	}
	if st.LastUserMessage != "" {
		events, err := s.Scope(owner).Events(ctx, c.ID())
		if err != nil {
			return err
		}
		asked, err := events.Get(ctx, c.ID(), st.LastUserMessage)
		if err != nil {
			return err
		}
		if asked.Timestamp > event.At(now.Created) {
			if err := s.o.Sandboxes.Forget(ctx, now.ID); err != nil {
				return err
			}
		}
	}
	s.o.Log.Warn("the workspace of a sandbox has vanished, and is made anew", "sandbox", now.ID)
	return s.o.Sandboxes.GiveUp(ctx, now)
}

// revive makes the sandbox of a conversation anew, and the files of all its conversations.
func (s *Service) revive(ctx context.Context, owner identity.Tenant, c *session.Conversation, info *Info) error {
	b, made, err := s.o.Sandboxes.Revive(ctx, owner, info.Conversation.Sandbox)
	if err != nil || !made {
		return err
	}
	if inside, err := c.WorkspaceInside(); err != nil || inside { // its sandbox makes it, empty
		return err
	}
	found, err := s.o.Sandboxes.BringBack(ctx, b)
	if err != nil {
		s.o.Log.Warn("the archive of a workspace is not used", "sandbox", b.ID, "err", err)
	}
	if found {
		err = s.moveInto(ctx, b, c)
	} else {
		err = s.bringBack(ctx, owner, b, c, info)
	}
	if err != nil {
		// With a sandbox the next message would find an empty workspace.
		return errors.Join(err, s.o.Sandboxes.Discard(context.WithoutCancel(ctx), b))
	}
	done := map[string]bool{c.Workspace(): true}
	others, err := s.o.Sandboxes.Conversations(ctx, owner, b.ID)
	if err != nil {
		return err
	}
	for _, id := range others {
		if id == c.ID() {
			continue
		}
		if found {
			err = s.alsoMoveInto(ctx, owner, b, id)
		} else {
			err = s.alsoBringBack(ctx, owner, b, id, done)
		}
		if err != nil {
			s.o.Log.Warn("the files of another conversation of the sandbox are not brought back", "conversation", id, "err", err)
		}
	}
	return nil
}

// moveInto has a conversation work in the workspace that was unpacked.
func (s *Service) moveInto(ctx context.Context, b store.Sandbox, c *session.Conversation) error {
	dir, err := sandboxes.Moved(b, c.Workspace())
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the files of this conversation are gone, and it cannot go on without them")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(err, fault.Denied, "make the directory of the conversation")
	}
	return c.Change(ctx, session.Changes{WorkingDir: dir})
}

// alsoMoveInto is moveInto for another conversation of the sandbox.
func (s *Service) alsoMoveInto(ctx context.Context, owner identity.Tenant, b store.Sandbox, id event.ConversationID) error {
	c, err := s.Scope(owner).Get(ctx, id)
	if err != nil {
		return err
	}
	return s.moveInto(ctx, b, c)
}

// alsoBringBack is bringBack for another conversation of the sandbox. done are the
// directories that are there again: what the first one left in it counts.
func (s *Service) alsoBringBack(ctx context.Context, owner identity.Tenant, b store.Sandbox, id event.ConversationID, done map[string]bool) error {
	c, err := s.Scope(owner).Get(ctx, id)
	if err != nil {
		return err
	}
	if dir := c.Workspace(); done[dir] {
		return c.Change(ctx, session.Changes{WorkingDir: dir})
	}
	info, err := s.One(ctx, owner, id)
	if err != nil {
		return err
	}
	done[c.Workspace()] = true
	return s.bringBack(ctx, owner, b, c, info)
}

func (s *Service) bringBack(ctx context.Context, owner identity.Tenant, b store.Sandbox, c *session.Conversation, info *Info) error {
	dir, err := sandboxes.Locate(b, c.Workspace())
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the files of this conversation are gone, and it cannot go on without them")
	}
	if info.Repository != "" {
		r := Start{Repository: info.Repository, Branch: info.Branch, Provider: info.Provider}
		if _, err := s.clone(ctx, owner, filepath.Dir(dir), info.Conversation.ID.Hex(), r); err != nil {
			s.o.Log.Warn("a conversation goes on without its repository", "conversation", c.ID(), "err", err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(err, fault.Denied, "make the directory of the conversation")
	}
	found, err := c.Branches().Restore(ctx)
	if err != nil {
		return fault.Wrap(err, fault.KindOf(err), "bring back the files of the conversation")
	}
	if !found {
		s.o.Log.Warn("a conversation goes on without the files that it had", "conversation", c.ID())
	}
	return nil
}
