package conversations

import (
	"context"
	"path/filepath"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/session"
)

// ForkRequest describes a fork's share of its source.
type ForkRequest struct {
	At    event.ID // the last event that it shares; HEAD if empty
	Title string
	// SameFiles has it work in the sandbox of its source, with the files as they are.
	// Else it has a sandbox of its own with the files as they were at the event.
	SameFiles bool
}

// Fork makes a conversation that shares the events up to one of another one. For files of
// its own, a sandbox of the other one that was deleted is made anew. NotFound if
// the event is unknown, or if the files at the event are, which the fork is to have.
func (s *Service) Fork(ctx context.Context, owner identity.Tenant, id event.ConversationID, r ForkRequest) (*Info, error) {
	open := s.Continue
	if r.SameFiles {
		open = s.Open
	}
	c, err := open(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	info, err := s.One(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	o := session.ForkOptions{ID: event.NewConversationID(), From: r.At, Title: r.Title}
	if o.Title == "" {
		o.Title = forkTitle(info.Meta.Title)
	}
	row := info.Conversation
	row.ID, row.Owner, row.Created, row.Public, row.PRNumbers, row.PRURLs = o.ID, string(owner), now(), false, nil, nil
	if row.Sandbox == "" || r.SameFiles {
		if _, err := c.Branches().Fork(ctx, o); err != nil {
			return nil, err
		}
	} else {
		b, err := s.o.Sandboxes.Create(ctx, owner)
		if err != nil {
			return nil, err
		}
		// The directory may belong to a repository below the project's.
		below, err := filepath.Rel(filepath.Join(s.o.Sandboxes.Workspace(row.Sandbox), sandboxes.ProjectDirectory), c.Workspace())
		if err != nil || !filepath.IsLocal(below) {
			below = "."
		}
		row.Sandbox = b.ID
		o.Files = &session.ForkFiles{Dir: filepath.Join(b.Directory, sandboxes.ProjectDirectory, below)}
		if _, err := c.Branches().Fork(ctx, o); err != nil {
			if gone := s.o.Sandboxes.Delete(context.WithoutCancel(ctx), owner, b.ID); gone != nil {
				s.o.Log.Warn("the sandbox of a fork that was not made is left", "sandbox", b.ID, "err", gone)
			}
			return nil, err
		}
	}
	if err := s.o.Store.SaveConversation(ctx, row); err != nil {
		return nil, err
	}
	return s.One(ctx, owner, o.ID)
}

// Undo takes a conversation back to an event, with the files of its workspace unless
// they are to stay, in a new sandbox if the former one was deleted. See
// [session.Branches.Undo].
func (s *Service) Undo(ctx context.Context, owner identity.Tenant, id event.ConversationID, o session.UndoOptions) (session.Undone, error) {
	open := s.Continue
	if o.Preview {
		open = s.Open
	}
	c, err := open(ctx, owner, id)
	if err != nil {
		return session.Undone{}, err
	}
	return c.Branches().Undo(ctx, o)
}

// FilesKept says which files of an event a fork or an undo can take. See
// [session.Conversation.FilesKept].
func (s *Service) FilesKept(ctx context.Context, owner identity.Tenant, id event.ConversationID, at event.ID) (session.FilesKept, error) {
	c, err := s.Open(ctx, owner, id)
	if err != nil {
		return session.FilesKept{}, err
	}
	return c.Branches().FilesKept(ctx, at)
}
