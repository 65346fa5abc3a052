package session

import (
	"cmp"
	"context"
	"maps"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/state"
)

// ChildOptions ask for a conversation that works on a part of another's task
// (docs/openhands/sdk-wire-1.58.md section C.2).
type ChildOptions struct {
	Task     string
	Title    string
	Worktree bool // in a worktree of its own, where there is a repository
}

// StartChild makes a conversation with the agent, the secrets and the tags of
// this one and a history of its own, and starts it. It does not wait for it.
func (c *Conversation) StartChild(ctx context.Context, o ChildOptions) (*Conversation, error) {
	m := c.m
	if m.full() {
		return nil, ErrCapacity
	}
	child, err := c.newChild(event.NewConversationID(), o.Title)
	if err != nil {
		return nil, err
	}
	if o.Worktree {
		if inside, err := c.WorkspaceInside(); err != nil || inside {
			return nil, cmp.Or(err, errNoWorktree)
		}
		root, work, err := m.o.Files.AddWorktree(ctx, c.Workspace(), child.id, nil)
		if err != nil {
			return nil, err
		}
		child.rec.Worktree, child.rec.Workspace.WorkingDir = root, work
		if root != "" {
			if child.rec.Directory, err = workspacedir.Identify(work); err != nil {
				return nil, err
			}
		}
	}
	if err := c.storeChild(ctx, child); err != nil {
		return nil, err
	}
	return child, child.Send(ctx, Message{
		Role: event.RoleUser, Content: []event.Content{event.Text(o.Task)}, Run: true,
	})
}

// newChild makes a conversation in memory with the agent, the secrets and the tags of this
// one, which works in the same directory.
func (c *Conversation) newChild(id event.ConversationID, title string) (*Conversation, error) {
	c.mu.Lock()
	child := &Conversation{m: c.m, id: id, rec: c.rec, agent: c.agent, view: c.m.o.View.Open()}
	child.meta = eventstream.Meta{Owner: c.meta.Owner, Title: title, Tags: maps.Clone(c.meta.Tags), Parent: c.id}
	c.mu.Unlock()
	child.rec.Children, child.rec.ForkedAt, child.rec.Worktree, child.rec.SubAgent = nil, "", "", ""
	return child, child.openSecrets(child.rec.Secrets)
}

// storeChild stores a child and notes it in its parent.
func (c *Conversation) storeChild(ctx context.Context, child *Conversation) error {
	if admit := c.m.o.AdmitChild; admit != nil {
		if err := admit(ctx, c.id, child.id); err != nil {
			return err
		}
	}
	child.meta.WorkingDir = child.rec.Workspace.WorkingDir
	e := c.m.hold(child.id)
	if err := child.storeNew(ctx); err != nil {
		c.m.release(child.id, e, nil)
		return err
	}
	c.m.release(child.id, e, child)
	child.touch()
	return c.addChild(ctx, child.id)
}

// HasWorktree reports whether the conversation has a worktree of its own.
func (c *Conversation) HasWorktree() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.Worktree != ""
}

// Status returns the present status of a conversation without loading its
// events: idle if it is not active.
func (c *Conversation) Status() state.Status {
	if w := c.active.Load(); w != nil {
		return w.State().Status
	}
	return state.Idle
}
