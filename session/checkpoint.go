package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
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

// maxStepBytes bounds the bytes that the checkpoints of the steps of one turn read and
// store, beside the turn's own.
const maxStepBytes = 512 << 20

// tellAfter is how long a checkpoint is waited for until people who watch are told.
const tellAfter = time.Second

// checkpointer takes the checkpoints of a worker.
type checkpointer struct {
	c *Conversation
	w *worker

	taking *semaphore.Weighted // held while one is taken; it guards the others
	tried  event.ID            // at which the last one was taken, or failed
	turn   event.ID            // likewise, of the last one of a turn
	// spent counts the bytes that the steps of the present turn have stored; it is
	// maxStepBytes after a step that failed.
	spent int64
}

func newCheckpointer(c *Conversation, w *worker) *checkpointer {
	return &checkpointer{c: c, w: w, taking: semaphore.NewWeighted(1)}
}

// wait returns when no checkpoint is being taken.
func (k *checkpointer) wait(ctx context.Context) error {
	defer k.tell()()
	if err := k.taking.Acquire(ctx, 1); err != nil {
		return err
	}
	k.taking.Release(1)
	return nil
}

// now takes the checkpoint that is due before a batch of actions; with nil the one before
// the actions of the answer that the model is giving. It returns when none is being taken.
func (k *checkpointer) now(ctx context.Context, batch []*event.ActionEvent) {
	if batch != nil {
		defer k.tell()()
	}
	if err := k.taking.Acquire(ctx, 1); err != nil {
		return // the run is stopped
	}
	defer k.taking.Release(1)
	s := k.w.Latest()
	if batch == nil && (!k.w.Busy() || len(s.Pending) > 0) {
		return // the answer came meanwhile: its actions have been announced
	}
	if at, step := k.due(s, batch, k.c.m.o.CheckpointTimes); at != "" {
		k.take(ctx, at, step)
	}
}

// tell tells people who watch, unless over is called soon, that the files are waited for.
func (k *checkpointer) tell() (over func()) {
	told := make(chan struct{})
	timer := time.AfterFunc(tellAfter, func() {
		defer close(told)
		k.c.publish.hub.publish(Transient{Waiting: &Waiting{For: "the files to be kept for an undo"}})
	})
	return func() {
		if !timer.Stop() {
			<-told
			k.c.publish.hub.publish(Transient{Waiting: &Waiting{Over: true}})
		}
	}
}

// due returns the event at which a checkpoint is due, "" for none, and whether it belongs to
// a step within a turn.
func (k *checkpointer) due(s *state.State, batch []*event.ActionEvent, times CheckpointTimes) (at event.ID, step bool) {
	turn := s.LastUserMessage
	switch {
	case turn == "":
	case turn != k.tried && turn != k.turn && !changedSince(s, turn, batch):
		return turn, false
	case !actedSince(s, turn, batch):
		return "", false
	}
	if at = s.Head; len(batch) > 0 {
		at = batch[0].ParentID
	}
	if times != CheckpointSteps || at == event.Root || k.spent >= maxStepBytes || k.tried != "" && !actedSince(s, k.tried, batch) {
		return "", true
	}
	return at, true
}

// actedSince reports whether actions outside of a batch follow an event, as far as the view
// shows it.
func actedSince(s *state.State, ev event.ID, batch []*event.ActionEvent) bool {
	for _, e := range slices.Backward(s.View) {
		if e.Meta().ID == ev {
			return false
		}
		if a, ok := e.(*event.ActionEvent); ok && !slices.ContainsFunc(batch, func(b *event.ActionEvent) bool { return b.ID == a.ID }) {
			return true
		}
	}
	return true // a summary has replaced the events after it
}

// changedSince reports whether actions outside of a batch that may have changed files follow an
// event, as far as the view shows it. Those that the user has refused have not.
func changedSince(s *state.State, ev event.ID, batch []*event.ActionEvent) bool {
	harmless := map[event.ID]bool{}
	for _, a := range batch {
		harmless[a.ID] = true
	}
	for _, e := range slices.Backward(s.View) {
		if e.Meta().ID == ev {
			return false
		}
		switch e := e.(type) {
		case *event.UserRejectObservation:
			harmless[e.ActionID] = true
		case *event.ActionEvent:
			if !harmless[e.ID] && !readsOnly(e) {
				return true
			}
		}
	}
	return true // a summary has replaced the events after it
}

// before returns the function that takes the checkpoint before a batch of actions; nil where
// none are taken. Actions that change no files, such as the end of a turn or a command that only
// reads, do not wait for it.
func (k *checkpointer) before() func(context.Context, []*event.ActionEvent, bool) {
	if !k.c.Branches().keepsFiles() {
		return nil
	}
	return func(ctx context.Context, batch []*event.ActionEvent, forRuntime bool) {
		reading := !slices.ContainsFunc(batch, func(a *event.ActionEvent) bool { return !readsOnly(a) })
		if forRuntime && !reading {
			k.now(ctx, batch)
		} else {
			k.beside(batch, forRuntime)
		}
	}
}

// beforeTurn takes the checkpoint that is due before a step of an agent that acts by itself.
func (k *checkpointer) beforeTurn(ctx context.Context) {
	if k.c.Branches().keepsFiles() {
		k.now(ctx, []*event.ActionEvent{})
	}
}

// beside begins to take the checkpoint before a batch of actions that change no files. It returns
// when the checkpoint is sure to come before the next change of the files. turn says that the one
// of a turn is begun as well: others may follow soon.
func (k *checkpointer) beside(batch []*event.ActionEvent, turn bool) {
	if !k.taking.TryAcquire(1) {
		return // one of the same files is being taken
	}
	at, step := k.due(k.w.Latest(), batch, k.c.m.o.CheckpointTimes)
	if at == "" || !step && !turn { // before the first action of a turn there is time
		k.taking.Release(1)
		return
	}
	k.c.m.running.Go(func() {
		defer k.taking.Release(1)
		k.take(k.c.m.ctx, at, step)
	})
}

// checkpointDelay lets the call of the model go out first: Git would keep it waiting
// where there are few processors.
const checkpointDelay = 100 * time.Millisecond

// ahead takes the checkpoint that is due while the model answers, unless ctx ends soon
// because it has answered.
func (k *checkpointer) ahead(ctx context.Context) {
	if !k.c.Branches().keepsFiles() {
		return
	}
	k.c.m.running.Go(func() {
		delay := time.NewTimer(checkpointDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
			k.now(k.c.m.ctx, nil)
		case <-ctx.Done():
		}
	})
}

// take takes a checkpoint. The conversation continues without one that fails.
func (k *checkpointer) take(ctx context.Context, at event.ID, step bool) {
	p := k.c.Branches().present(ctx, at)
	p.Step = step
	r, err := k.c.m.o.Checkpoints.Take(ctx, p)
	if err != nil && ctx.Err() != nil {
		return // another try may follow
	}
	k.tried = at
	switch {
	case !step:
		k.spent, k.turn = 0, at
	case err == nil:
		k.spent += r.NewBytes
	}
	if err == nil {
		return
	}
	k.spent = maxStepBytes // steps would fail as well
	if !errors.Is(err, checkpoint.ErrSlow) {
		k.c.m.o.Log.Warn("take a checkpoint of the files", "conversation", k.c.id, "event", at, "err", err)
		k.c.publish.hub.publish(Transient{Warning: "the files cannot be brought back to this point: " + err.Error()})
	}
}
