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

// appendWith is append for events that depend on the state they are appended
// to: make sees it while nobody else can append. What has happened is
// recorded even if ctx has ended.
func (c *Controller) appendWith(ctx context.Context, make func(*state.State) ([]event.Event, error)) error {
	ctx = context.WithoutCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fold == nil { // an earlier append was stored but not folded
		if err := c.refold(ctx); err != nil {
			return err
		}
	}
	evs, err := make(c.fold.State())
	if err != nil || len(evs) == 0 {
		return err
	}
	c.place(evs)
	last, err := c.cfg.Stream.Append(ctx, c.cfg.ID, evs...)
	if err != nil {
		return fmt.Errorf("append to conversation %s: %w", c.cfg.ID, err)
	}
	first := int64(last) - int64(len(evs)) + 1
	for i, ev := range evs {
		if err := c.fold.Apply(first+int64(i), ev); err != nil {
			c.fold = nil
			return fmt.Errorf("fold conversation %s: %w", c.cfg.ID, err)
		}
	}
	c.snap.Store(c.fold.State())
	return nil
}

// place hangs events on HEAD, one after the other, and stamps them no earlier
// than what is stored.
func (c *Controller) place(evs []event.Event) {
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
