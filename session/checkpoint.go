package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/state"
)

// CheckpointTimes say when checkpoints of workspaces are taken.
type CheckpointTimes string

// The times of checkpoints. All begin while the model answers, and no action for the
// runtime begins before they have ended.
const (
	// CheckpointsOff is never.
	CheckpointsOff CheckpointTimes = "off"
	// CheckpointTurns is once for each message of the user, before the first action
	// that follows it.
	CheckpointTurns CheckpointTimes = "turn"
	// CheckpointSteps is before the actions of each answer of the model too, but for
	// workspaces where that is slow (see [checkpoint.ErrSlow]) and turns in which much
	// is new (maxStepBytes).
	CheckpointSteps CheckpointTimes = "step"
)

// maxStepBytes bounds what the checkpoints of the steps of one turn read and store
// beside that of the turn.
const maxStepBytes = 512 << 20

// checkpointer takes the checkpoints of a worker.
type checkpointer struct {
	taking *semaphore.Weighted // held while one is taken; it guards what follows
	tried  event.ID            // at which the last one was taken, or failed
	// spent is what the steps of the present turn have stored; maxStepBytes after one
	// that failed.
	spent int64
}

func newCheckpointer() checkpointer { return checkpointer{taking: semaphore.NewWeighted(1)} }

// wait returns when no checkpoint is being taken.
func (k *checkpointer) wait(ctx context.Context) error {
	if err := k.taking.Acquire(ctx, 1); err != nil {
		return err
	}
	k.taking.Release(1)
	return nil
}

// keepsFiles reports whether checkpoints are taken of the conversation's workspace: it
// is on this machine, and no other conversation has handed it down.
func (c *Conversation) keepsFiles() bool {
	inside, err := c.WorkspaceInside()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.o.Checkpoints != nil && err == nil && !inside && c.meta.Parent == ""
}

// checkpoint takes the checkpoint that is due before a batch of actions, nil for before
// those of the answer that the model gives now. It returns when none is being taken.
func (c *Conversation) checkpoint(ctx context.Context, w *worker, batch []*event.ActionEvent) {
	k := &w.checkpoints
	if err := k.taking.Acquire(ctx, 1); err != nil {
		return // the run is stopped
	}
	defer k.taking.Release(1)
	s := w.Latest()
	if batch == nil && (!w.Busy() || len(s.Pending) > 0) {
		return // the answer came meanwhile: its actions have been announced
	}
	if at, step := k.due(s, batch, c.m.o.CheckpointTimes); at != "" {
		c.take(ctx, k, at, step)
	}
}

// due returns the event at which a checkpoint is due, "" for none, and whether it is that
// of a step within a turn.
func (k *checkpointer) due(s *state.State, batch []*event.ActionEvent, times CheckpointTimes) (at event.ID, step bool) {
	if turn := s.LastUserMessage; turn != "" && !actedSince(s, turn, batch) {
		if at = turn; at == k.tried {
			at = ""
		}
		return at, false
	}
	if at = s.Head; batch != nil {
		at = batch[0].ParentID
	}
	if times != CheckpointSteps || at == event.Root || k.spent >= maxStepBytes || k.tried != "" && !actedSince(s, k.tried, batch) {
		return "", true
	}
	return at, true
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

// checkpointBefore returns what takes the checkpoint that is due before a batch of actions.
// Those that leave the files alone, such as the end of a turn, do not wait for it.
func (c *Conversation) checkpointBefore(w *worker) func(context.Context, []*event.ActionEvent, bool) {
	if !c.keepsFiles() {
		return nil
	}
	return func(ctx context.Context, batch []*event.ActionEvent, forRuntime bool) {
		if forRuntime {
			c.checkpoint(ctx, w, batch)
		} else {
			c.checkpointBeside(w, batch)
		}
	}
}

// checkpointBeside takes the checkpoint of a step that is due before a batch of actions,
// and returns when it is sure to come before whatever changes the files next.
func (c *Conversation) checkpointBeside(w *worker, batch []*event.ActionEvent) {
	k := &w.checkpoints
	if !k.taking.TryAcquire(1) {
		return // that of the same files is being taken
	}
	at, step := k.due(w.Latest(), batch, c.m.o.CheckpointTimes)
	if at == "" || !step { // before the first action of a turn there is time
		k.taking.Release(1)
		return
	}
	c.m.running.Go(func() {
		defer k.taking.Release(1)
		c.take(c.m.ctx, k, at, step)
	})
}

// checkpointDelay lets the call of the model go out first: Git would keep it waiting
// where there are few processors.
const checkpointDelay = 100 * time.Millisecond

// checkpointAhead takes the checkpoint that is due while the model answers, unless ctx
// ends soon because it has answered.
func (c *Conversation) checkpointAhead(ctx context.Context, w *worker) {
	if !c.keepsFiles() {
		return
	}
	c.m.running.Go(func() {
		delay := time.NewTimer(checkpointDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
			c.checkpoint(c.m.ctx, w, nil)
		case <-ctx.Done():
		}
	})
}

// take takes a checkpoint. The conversation goes on without one that fails.
func (c *Conversation) take(ctx context.Context, k *checkpointer, at event.ID, step bool) {
	p := c.pointOf(ctx, at)
	p.Step = step
	r, err := c.m.o.Checkpoints.Take(ctx, p)
	if err != nil && ctx.Err() != nil {
		return // another try may follow
	}
	k.tried = at
	switch {
	case !step:
		k.spent = 0
	case err == nil:
		k.spent += r.NewBytes
	}
	if err == nil {
		return
	}
	k.spent = maxStepBytes // steps would fail as well
	if !errors.Is(err, checkpoint.ErrSlow) {
		c.m.o.Log.Warn("take a checkpoint of the files", "conversation", c.id, "event", at, "err", err)
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

// checkpoints returns where checkpoints are, that of the last step too, or why there are
// none.
func (c *Conversation) checkpoints(ctx context.Context) (*checkpoint.Store, error) {
	inside, err := c.WorkspaceInside()
	switch {
	case err != nil:
		return nil, err
	case inside:
		return nil, fault.New(fault.Unsupported, "the files of a workspace inside the sandbox have no checkpoints")
	case c.m.o.Checkpoints == nil:
		return nil, fault.New(fault.Unsupported, "there are no checkpoints: they are off, or git is not installed")
	}
	if w := c.active.Load(); w != nil {
		if err := w.checkpoints.wait(ctx); err != nil {
			return nil, err
		}
	}
	return c.m.o.Checkpoints, c.CheckWorkspace()
}
