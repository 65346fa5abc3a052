package session

import (
	"context"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/session/internal/history"
)

// Branches are the branches of a conversation, with the files of its workspace at their
// events.
type Branches struct{ c *Conversation }

// Branches returns the branches of the conversation.
func (c *Conversation) Branches() Branches { return Branches{c} }

// Navigate moves HEAD to an event, or to nothing for an empty id.
func (b Branches) Navigate(ctx context.Context, to event.ID) error {
	return b.c.withWorker(ctx, func(w *worker) error {
		at, err := b.onTree(ctx, to)
		if err != nil {
			return err
		}
		if err := w.Navigate(ctx, at); err != nil {
			return err
		}
		w.saveIfIdle()
		return nil
	})
}

// tree reads the events of all branches.
func (b Branches) tree(ctx context.Context) (history.Tree, error) {
	return history.Read(ctx, b.c.m.o.Store, b.c.id)
}

// onTree returns the event of the tree for an id; see [history.OnTree].
func (b Branches) onTree(ctx context.Context, id event.ID) (event.ID, error) {
	return history.OnTree(ctx, b.c.m.o.Store, b.c.id, id)
}

// settled returns an error for an event at which calls have no result; see
// [history.Settled].
func (b Branches) settled(ctx context.Context, at event.ID) error {
	return history.Settled(ctx, b.c.m.o.Store, b.c.id, at)
}

// keepsFiles reports whether checkpoints of the workspace are taken: it is on this machine,
// and not a parent's.
func (b Branches) keepsFiles() bool {
	inside, err := b.c.WorkspaceInside()
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	return b.c.m.o.Checkpoints != nil && err == nil && !inside && b.c.meta.Parent == ""
}

// present describes the present for a checkpoint at an event.
func (b Branches) present(ctx context.Context, ev event.ID) checkpoint.Point {
	p := checkpoint.Point{Workspace: b.c.Workspace(), Conversation: b.c.id, Event: ev}
	if v, err := gitview.Open(p.Workspace); err == nil { // it need not be a repository
		p.Checkout = checkout(ctx, v)
		_ = v.Close() // it was only read
	}
	return p
}

// checkout returns the checkout of a repository, as far as git can tell.
func checkout(ctx context.Context, v *gitview.View) (c checkpoint.Checkout) {
	commit, err := v.Head(ctx)
	if err != nil {
		return c
	}
	c.Commit, c.Ref = commit, detached
	if branch := v.Branch(); branch != "" {
		c.Ref = "refs/heads/" + branch
	}
	return c
}

// checkpoints returns the store of checkpoints once the last one is taken, or why there is
// none.
func (b Branches) checkpoints(ctx context.Context) (*checkpoint.Store, error) {
	inside, err := b.c.WorkspaceInside()
	switch {
	case err != nil:
		return nil, err
	case inside:
		return nil, fault.New(fault.Unsupported, "the files of a workspace inside the sandbox have no checkpoints")
	case b.c.m.o.Checkpoints == nil:
		return nil, fault.New(fault.Unsupported, "there are no checkpoints: they are off, or git is not installed")
	}
	if w := b.c.active.Load(); w != nil {
		if err := w.checkpoints.wait(ctx); err != nil {
			return nil, err
		}
	}
	return b.c.m.o.Checkpoints, b.c.CheckWorkspace()
}
