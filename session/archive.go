package session

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// KeepFiles takes a checkpoint of the files as they are now, after the last event, from
// which [Conversation.BringBackFiles] makes them again when their directory is gone. It
// does nothing where there are no checkpoints. Nothing should change the files meanwhile.
func (c *Conversation) KeepFiles(ctx context.Context) error {
	if !c.keepsFiles() {
		return nil
	}
	last, err := c.treeEventAt(ctx, eventstream.Descending)
	if err != nil {
		return err
	}
	p := c.pointOf(ctx, last)
	p.Again = true
	if _, err := c.m.o.Checkpoints.Take(ctx, p); err != nil {
		return fmt.Errorf("keep the files of conversation %s: %w", c.id, err)
	}
	return nil
}

// BringBackFiles makes the conversation work in its directory again, which has been made
// anew, and brings the files back of its last checkpoint. found is false if there is none.
// Conflict if the conversation is in use.
func (c *Conversation) BringBackFiles(ctx context.Context) (found bool, err error) {
	if err := c.Change(ctx, Changes{WorkingDir: c.Workspace()}); err != nil {
		return false, err
	}
	if !c.keepsFiles() {
		return false, nil
	}
	cps, err := c.checkpoints(ctx)
	if err != nil {
		return false, err
	}
	all, err := cps.All(ctx, c.Workspace(), c.id)
	if err != nil || len(all) == 0 {
		return false, err
	}
	var last checkpoint.Record
	for rec, err := range c.m.o.Store.Read(ctx, c.id, 1) {
		if err != nil {
			return false, fmt.Errorf("read the events of conversation %s: %w", c.id, err)
		}
		if r, ok := all[rec.ID]; ok {
			last = r
		}
	}
	if last.Tree == "" {
		return false, nil
	}
	// What there is now is noted at an event that nobody goes back to.
	first, err := c.treeEventAt(ctx, eventstream.Ascending)
	if err != nil {
		return false, err
	}
	_, err = cps.Restore(ctx, c.pointOf(ctx, first), last)
	return err == nil, err
}

// treeEventAt returns the first event in an order that is no change of state, NotFound
// if there is none among the next hundred.
func (c *Conversation) treeEventAt(ctx context.Context, order eventstream.Order) (event.ID, error) {
	page, err := c.m.o.Store.Search(ctx, c.id, eventstream.Query{Order: order, Limit: 100})
	if err != nil {
		return "", fmt.Errorf("read the events of conversation %s: %w", c.id, err)
	}
	for _, rec := range page.Records {
		if rec.Kind != kindStateUpdate {
			return rec.ID, nil
		}
	}
	return "", fault.New(fault.NotFound, "the conversation "+string(c.id)+" has no events")
}
