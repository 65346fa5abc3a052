package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/state"
)

// CheckpointTimes say when checkpoints of workspaces are taken.
type CheckpointTimes string

// The times of checkpoints.
const (
	// CheckpointTurns is once for each message of the user, before the first action
	// that follows it. It begins while the model answers.
	CheckpointTurns CheckpointTimes = "turn"
	// CheckpointSteps is before the actions of each answer of the model too.
	CheckpointSteps CheckpointTimes = "step"
)

// checkpointer takes the checkpoints of a worker.
type checkpointer struct {
	mu    sync.Mutex
	event event.ID      // of the last one
	taken chan struct{} // closed when that has been tried
}

// once calls take, unless it has been called for the event, and returns when that has
// ended or ctx has.
func (k *checkpointer) once(ctx context.Context, ev event.ID, take func()) {
	k.mu.Lock()
	if k.event == ev && k.taken != nil {
		taken := k.taken
		k.mu.Unlock()
		select {
		case <-taken:
		case <-ctx.Done():
		}
		return
	}
	taken := make(chan struct{})
	k.event, k.taken = ev, taken
	k.mu.Unlock()
	defer close(taken)
	take()
}

// keepsFiles reports whether checkpoints are taken of the conversation's workspace: it
// is on this machine, and no other conversation has handed it down.
func (c *Conversation) keepsFiles() bool {
	inside, err := c.WorkspaceInside()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.o.Checkpoints != nil && err == nil && !inside && c.meta.Parent == ""
}

// checkpointTurn takes the checkpoint of the user's last message, unless actions have
// followed it.
func (c *Conversation) checkpointTurn(ctx context.Context, w *worker, batch []*event.ActionEvent) {
	s := w.Latest()
	w.checkpoints.once(ctx, s.LastUserMessage, func() {
		if s.LastUserMessage != "" && !actedSince(s, s.LastUserMessage, batch) {
			c.take(ctx, s.LastUserMessage)
		}
	})
}

// actedSince reports whether actions beside those of a batch follow an event, as far as
// the view shows it.
func actedSince(s *state.State, ev event.ID, batch []*event.ActionEvent) bool {
	for _, e := range slices.Backward(s.View) {
		if e.Meta().ID == ev {
			return false
		}
		if a, ok := e.(*event.ActionEvent); ok && !slices.ContainsFunc(batch, func(b *event.ActionEvent) bool { return b.ID == a.ID }) {
			return true
		}
	}
	return true // a summary stands for what follows it
}

// checkpointBefore takes the checkpoints that are due before a batch of actions.
func (c *Conversation) checkpointBefore(w *worker) func(context.Context, []*event.ActionEvent) {
	if !c.keepsFiles() {
		return nil
	}
	return func(ctx context.Context, batch []*event.ActionEvent) {
		c.checkpointTurn(ctx, w, batch)
		if before := batch[0].ParentID; c.m.o.CheckpointTimes == CheckpointSteps && before != event.Root {
			c.take(ctx, before) // the one of the turn stays as it is
		}
	}
}

// checkpointDelay lets the call of the model go out first: Git would keep it waiting
// where there are few processors.
const checkpointDelay = 100 * time.Millisecond

// checkpointAhead takes the checkpoint of a turn while the model answers.
func (c *Conversation) checkpointAhead(w *worker) {
	if !c.keepsFiles() {
		return
	}
	c.m.running.Go(func() {
		delay := time.NewTimer(checkpointDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
		case <-c.m.ctx.Done():
			return
		}
		if w.Busy() {
			c.checkpointTurn(c.m.ctx, w, nil)
		}
	})
}

// take takes a checkpoint. The conversation goes on without one that fails.
func (c *Conversation) take(ctx context.Context, ev event.ID) {
	_, err := c.m.o.Checkpoints.Take(ctx, c.pointOf(ctx, ev))
	if err != nil && ctx.Err() == nil {
		c.m.o.Log.Warn("take a checkpoint of the files", "conversation", c.id, "event", ev, "err", err)
		c.hub.publish(Transient{Warning: "the files cannot be brought back to this point: " + err.Error()})
	}
}

// pointOf describes the present for a checkpoint.
func (c *Conversation) pointOf(ctx context.Context, ev event.ID) checkpoint.Point {
	p := checkpoint.Point{Workspace: c.Workspace(), Conversation: c.id, Event: ev}
	if v, err := gitview.Open(p.Workspace); err == nil { // it need not be a repository
		p.Checkout = checkout(ctx, v)
		_ = v.Close() // it was only read
	}
	return p
}

// checkout returns what a repository has checked out, as far as git can tell.
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

// checkpoints returns where checkpoints are, or why there are none.
func (c *Conversation) checkpoints() (*checkpoint.Store, error) {
	inside, err := c.WorkspaceInside()
	switch {
	case err != nil:
		return nil, err
	case inside:
		return nil, fault.New(fault.Unsupported, "the files of a workspace inside the sandbox have no checkpoints")
	case c.m.o.Checkpoints == nil:
		return nil, fault.New(fault.Unsupported, "there are no checkpoints: they are off, or git is not installed")
	}
	return c.m.o.Checkpoints, c.CheckWorkspace()
}
