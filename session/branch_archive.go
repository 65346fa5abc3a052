package session

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/session/internal/history"
)

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
