package session

import (
	"context"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
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
	// Times say when checkpoints are taken, and Slow that those of steps are left out in
	// this workspace, where they take too long.
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
	if at == "" {
		at = s.Head
	}
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

// nearest returns the last event before another one that has a checkpoint and that a
// conversation can go on from, "" if there is none, and when that was taken.
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
