package session

import (
	"context"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
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

// FilesKept returns which files of an event can be brought back, HEAD's if at is "": what
// [Conversation.Undo] and [Conversation.Fork] take. NotFound for an unknown event, Invalid
// for one at which a call has no result yet.
func (c *Conversation) FilesKept(ctx context.Context, at event.ID) (k FilesKept, err error) {
	s, err := c.State(ctx)
	if err != nil {
		return k, err
	}
	if at == "" {
		at = s.Head
	}
	t, err := c.eventTree(ctx)
	if err != nil {
		return k, err
	}
	if at, err = c.onTree(ctx, at); err != nil {
		return k, err
	}
	if at != s.Head {
		if err := c.settled(ctx, at); err != nil {
			return k, err
		}
	}
	if k.Times = CheckpointsOff; c.keepsFiles() {
		k.Times, k.Slow = c.m.o.CheckpointTimes, c.m.o.Checkpoints.Slow(c.Workspace())
	}
	if !t.acted(at, s.Head) {
		k.At = at
		return k, nil
	}
	if k.Times == CheckpointsOff {
		return k, nil
	}
	cps, err := c.checkpoints(ctx)
	if err != nil {
		return k, err
	}
	all, err := cps.All(ctx, c.Workspace(), c.id)
	if err != nil {
		return k, err
	}
	if r, ok := t.filesAt(at, all); ok {
		k.At, k.Time = at, r.Time
		return k, nil
	}
	k.At, k.Time, err = c.nearest(ctx, t, at, all)
	return k, err
}

// nearest returns the last event before another one that has a checkpoint and that a
// conversation can go on from, "" if there is none, and when that was taken.
func (c *Conversation) nearest(ctx context.Context, t eventTree, at event.ID, all map[event.ID]checkpoint.Record) (event.ID, time.Time, error) {
	for before := t.events[at].parent; before != ""; before = t.events[before].parent {
		r, ok := all[before]
		if !ok {
			continue
		}
		err := c.settled(ctx, before)
		if err == nil {
			return before, r.Time, nil
		}
		if !fault.Is(err, fault.Invalid) {
			return "", time.Time{}, err
		}
	}
	return "", time.Time{}, nil
}
