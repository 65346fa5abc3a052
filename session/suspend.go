package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/event"
)

// Suspend interrupts all runs and closes the workers, so that everything is stored and the
// machine can be paused. Conversations stay loaded, with their watchers, and work again when
// they are used. The error joins the errors of conversations that could not be suspended.
func (m *Manager) Suspend(ctx context.Context) error {
	var all errgroup.Group
	all.SetLimit(closers)
	var errs []error
	var mu sync.Mutex
	for _, c := range m.all() {
		all.Go(func() error {
			if err := m.suspend(ctx, c); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("suspend the conversation %s: %w", c.id, err))
			}
			return nil
		})
	}
	_ = all.Wait() // returns none
	return errors.Join(errs...)
}

func (m *Manager) suspend(ctx context.Context, c *Conversation) error {
	if err := stopRuns(ctx, c); err != nil {
		return err
	}
	e := m.hold(c.id)
	defer func() { m.release(c.id, e, e.c) }()
	if e.c != c { // evicted meanwhile
		return nil
	}
	return c.close(ctx, true) // ErrRunning if a client has started another run
}

// Reload interrupts the runs of a conversation and closes its worker, but not its sandbox. The
// next use reads the skills of its project again.
func (c *Conversation) Reload(ctx context.Context) error { return c.m.suspend(ctx, c) }

// Release interrupts the runs of a conversation and closes its worker with its sandbox; then it
// calls end, under the conversation's lock, which ends a sandbox of an earlier process. The
// worker starts again when the conversation is used. NotFound if there is none, [ErrLocked] if
// another process works on it.
func (m *Manager) Release(ctx context.Context, id event.ConversationID, end func(context.Context) error) error {
	c, err := m.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := stopRuns(ctx, c); err != nil {
		return err
	}
	e := m.hold(id)
	defer func() { m.release(id, e, e.c) }()
	if e.c != nil {
		if err := e.c.close(ctx, false); err != nil { // ErrRunning if a client has started another run
			return err
		}
	}
	unlock, err := m.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	if err := end(ctx); err != nil {
		return err
	}
	m.notPaused(id)
	return nil
}
