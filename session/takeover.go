package session

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// TakeOver continues the conversations that other processes were running when they ended.
// It stops a conversation whose lock this process has lost without a record of the stop:
// another process may continue it. It does so until ctx ends, or until the lock is closed.
// It returns at once if the manager's Lock is no [LockWatcher].
func (m *Manager) TakeOver(ctx context.Context) error {
	w, ok := m.o.Lock.(LockWatcher)
	if !ok {
		return nil
	}
	m.takesOver.Store(true)
	defer m.takesOver.Store(false)
	err := w.Watch(ctx, m.orphaned, m.abandon)
	if fault.Is(err, fault.Canceled) {
		return nil
	}
	return err
}

// opened continues a conversation that was opened to look at it after its process has ended,
// but before that was noticed: by then it is this process that has the lock.
func (m *Manager) opened(c *Conversation, now state.Status) {
	if now == state.Running && m.takesOver.Load() && !c.resuming.Load() {
		m.running.Go(func() { m.orphaned(c.id) })
	}
}

// orphaned continues a conversation whose process has ended.
func (m *Manager) orphaned(id event.ConversationID) {
	info, err := m.o.Store.Info(m.ctx, id)
	switch {
	case err == nil && info.Status == string(state.Running) && !m.o.Replays(m.ctx, id):
		if err = m.resume(m.ctx, id); err == nil {
			m.o.Log.Info("continue a conversation of a process that has ended", "conversation", id)
		}
	case fault.Is(err, fault.NotFound): // it is locked before it is made
		err = nil
	}
	if err != nil && !fault.Is(err, fault.Conflict) && m.ctx.Err() == nil {
		m.o.Log.Warn("cannot continue a conversation of a process that has ended", "conversation", id, "err", err, "hint", fault.HintOf(err))
	}
}

// resume runs a conversation that says that it runs. The error is of kind Conflict if
// another process works on it, or if it does run or has ended.
func (m *Manager) resume(ctx context.Context, id event.ConversationID) error {
	c, err := m.Get(ctx, id)
	if err != nil {
		return err
	}
	c.resuming.Store(true)
	defer c.resuming.Store(false)
	return c.withWorker(ctx, func(w *worker) error {
		if w.State().Status != state.Running { // somebody else has continued it, and it has ended
			return errEnded
		}
		return w.drive(ctx, func(o controller.RunOptions) (func(context.Context) error, error) { return w.Start(ctx, o) })
	})
}

var errEnded = fault.New(fault.Conflict, "the conversation does not run any more")

// abandon ends the work of this process on a conversation, and leaves the sandbox to the process
// that takes over.
func (m *Manager) abandon(id event.ConversationID) {
	e := m.hold(id) // a worker that starts is waited for
	c := e.c
	m.release(id, e, c)
	for c != nil {
		if w := c.active.Load(); w != nil {
			w.abandon()
			err := w.Wait(m.ctx)
			for _, g := range w.guests.all() { // their sandbox is no longer this process's
				if gw := g.active.Load(); gw != nil && err == nil {
					gw.abandon()
					err = gw.Wait(m.ctx)
				}
			}
			if err != nil {
				return // the manager is closing, and closes it
			}
		}
		e := m.hold(id)
		kept := e.c
		var err error
		if kept == c {
			if err = c.close(context.WithoutCancel(m.ctx), true); err == nil && !c.publish.hub.watched() {
				kept = nil
			}
		}
		m.release(id, e, kept)
		if errors.Is(err, ErrRunning) { // a client has begun another run, which ends at once
			continue
		}
		if err != nil {
			m.o.Log.Warn("end a conversation that another process may take over", "conversation", id, "err", err)
		}
		return
	}
}
