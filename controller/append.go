package controller

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// append makes events durable as children of HEAD and folds them.
func (c *Controller) append(ctx context.Context, evs ...event.Event) error {
	return c.appendWith(ctx, func(*state.State) ([]event.Event, error) { return evs, nil })
}

// appendWith is append for events that depend on the state they are appended to:
// make sees it while nobody else can append. Events that have happened are
// recorded even if ctx has ended.
func (c *Controller) appendWith(ctx context.Context, make func(*state.State) ([]event.Event, error)) error {
	return c.appendDuring(ctx, make, nil)
}

// appendDuring is appendWith that calls during, unless it is nil, with the
// state as it will be, before the events are stored. No other caller sees
// that state before.
func (c *Controller) appendDuring(ctx context.Context, make func(*state.State) ([]event.Event, error), during func(*state.State)) error {
	ctx = context.WithoutCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return ErrClosed
	}
	if c.fold == nil { // an earlier append was not folded, or folded and not stored
		if err := c.refold(ctx); err != nil {
			return err
		}
	}
	evs, err := make(c.fold.State())
	if err != nil || len(evs) == 0 {
		return err
	}
	c.link(evs)
	expected := c.fold.State().Seq + int64(len(evs))
	for i, ev := range evs {
		if err := c.fold.Apply(expected-int64(len(evs))+int64(i)+1, ev); err != nil {
			c.fold = nil
			return fmt.Errorf("fold conversation %s: %w", c.cfg.ID, err)
		}
	}
	s := c.fold.State()
	if during != nil {
		during(s)
	}
	last, err := c.cfg.Stream.Append(ctx, c.cfg.ID, evs...)
	if err != nil {
		c.fold = nil
		return fmt.Errorf("append to conversation %s: %w", c.cfg.ID, err)
	}
	if int64(last) != expected { // somebody else appended before
		return c.refold(ctx)
	}
	c.snap.Store(s)
	return nil
}

// link appends events to HEAD, one after the other, and stamps them no earlier
// than the stored ones.
func (c *Controller) link(evs []event.Event) {
	s := c.fold.State()
	head, last := s.Head, s.LastTime
	for _, ev := range evs {
		m := ev.Meta()
		if m.ParentID == "" {
			m.ParentID = head
			if head == "" && !c.fold.Empty() {
				m.ParentID = event.Root
			}
		}
		last = max(last, event.Now())
		m.Timestamp = last
		if event.MovesHead(ev) {
			head = m.ID
		}
	}
}

// update makes a state update. Its values are our own types, which encode.
func update(key string, value any) event.Event {
	ev, err := event.NewStateUpdate(key, value)
	if err != nil {
		panic(err)
	}
	return ev
}

func status(s state.Status) event.Event { return update(state.KeyStatus, s) }
