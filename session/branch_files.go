package session

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session/internal/history"
)

// FilesKept says which files of an event can be brought back.
type FilesKept struct {
	// At is the event whose files are known: the one that was asked for, else the nearest
	// one before it; empty where none is.
	At event.ID
	// Time is when they were kept; zero for files that are as they were at the event,
	// since no action has followed it.
	Time time.Time
	// Times say when checkpoints are taken. Slow says that steps have none because they take
	// too long in this workspace.
	Times CheckpointTimes
	Slow  bool
}

// FilesKept returns the files of an event that [Branches.Undo] and [Branches.Fork] can bring
// back; of HEAD if at is "". NotFound for an unknown event, Invalid for one at which a call
// has no result yet.
func (b Branches) FilesKept(ctx context.Context, at event.ID) (k FilesKept, err error) {
	s, err := b.c.State(ctx)
	if err != nil {
		return k, err
	}
	at = cmp.Or(at, s.Head)
	t, err := b.tree(ctx)
	if err != nil {
		return k, err
	}
	if at, err = b.onTree(ctx, at); err != nil {
		return k, err
	}
	if at != s.Head {
		if err := b.settled(ctx, at); err != nil {
			return k, err
		}
	}
	if k.Times = CheckpointsOff; b.keepsFiles() {
		k.Times, k.Slow = b.c.m.o.CheckpointTimes, b.c.m.o.Checkpoints.Slow(b.c.Workspace())
	}
	if !t.Acted(at, s.Head) {
		k.At = at
		return k, nil
	}
	if k.Times == CheckpointsOff {
		return k, nil
	}
	cps, err := b.checkpoints(ctx)
	if err != nil {
		return k, err
	}
	all, err := cps.All(ctx, b.c.Workspace(), b.c.id)
	if err != nil {
		return k, err
	}
	if r, ok := t.FilesAt(at, all); ok {
		k.At, k.Time = at, r.Time
		return k, nil
	}
	k.At, k.Time, err = b.nearest(ctx, t, at, all)
	return k, err
}

// nearest returns the last event before another one that has a checkpoint and from which a
// conversation can continue, "" if there is none, and the time of the checkpoint.
func (b Branches) nearest(ctx context.Context, t history.Tree, at event.ID, all map[event.ID]checkpoint.Record) (event.ID, time.Time, error) {
	for before := t.Parent(at); before != ""; before = t.Parent(before) {
		r, ok := all[before]
		if !ok {
			continue
		}
		err := b.settled(ctx, before)
		if err == nil {
			return before, r.Time, nil
		}
		if !fault.Is(err, fault.Invalid) {
			return "", time.Time{}, err
		}
	}
	return "", time.Time{}, nil
}

// Keep takes a checkpoint of the files after the last event, from which [Branches.Restore]
// makes them again when their directory is gone. It does nothing if there are no checkpoints.
// Nothing should change the files meanwhile.
func (b Branches) Keep(ctx context.Context) error {
	if !b.keepsFiles() {
		return nil
	}
	last, err := history.End(ctx, b.c.m.o.Store, b.c.id, eventstream.Descending)
	if err != nil {
		return err
	}
	p := b.present(ctx, last)
	p.Again = true
	if _, err := b.c.m.o.Checkpoints.Take(ctx, p); err != nil {
		return fmt.Errorf("keep the files of conversation %s: %w", b.c.id, err)
	}
	return nil
}

// Restore makes the conversation work in its directory again, which has been made anew, with
// the files of its last checkpoint. found is false if there is none. Conflict if the
// conversation is in use.
func (b Branches) Restore(ctx context.Context) (found bool, err error) {
	if err := b.c.Change(ctx, Changes{WorkingDir: b.c.Workspace()}); err != nil {
		return false, err
	}
	if !b.keepsFiles() {
		return false, nil
	}
	cps, err := b.checkpoints(ctx)
	if err != nil {
		return false, err
	}
	all, err := cps.All(ctx, b.c.Workspace(), b.c.id)
	if err != nil || len(all) == 0 {
		return false, err
	}
	var last checkpoint.Record
	for rec, err := range b.c.m.o.Store.Read(ctx, b.c.id, 1) {
		if err != nil {
			return false, fmt.Errorf("read the events of conversation %s: %w", b.c.id, err)
		}
		if r, ok := all[rec.ID]; ok {
			last = r
		}
	}
	if last.Tree == "" {
		return false, nil
	}
	// The present files are kept at an event that nobody goes back to.
	first, err := history.End(ctx, b.c.m.o.Store, b.c.id, eventstream.Ascending)
	if err != nil {
		return false, err
	}
	_, err = cps.Restore(ctx, b.present(ctx, first), last)
	return err == nil, err
}
