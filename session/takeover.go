package session

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// TakeOver continues the conversations that other processes were running when they ended,
// and ends here, without a record, what another process may take over because this one
// has lost its lock. It does so until ctx ends, or until the lock is closed. It returns at
// once if the manager's Lock is no [LockWatcher].
//
// others says of an id whether it is something else that the program locks: then others
// has done what is to be done, and the manager does nothing. nil if there is nothing else.
func (m *Manager) TakeOver(ctx context.Context, others Others) error {
	w, ok := m.o.Lock.(LockWatcher)
	if !ok {
		return nil
	}
	if others == nil {
		others = noOthers{}
	}
	m.others.Store(&others)
	defer m.others.Store(nil)
	err := w.Watch(ctx, m.takeOver, func(id event.ConversationID) {
		if !others.Lost(id) {
			m.abandon(id)
		}
	})
	if fault.Is(err, fault.Canceled) {
		return nil
	}
	return err
}

// Others are what a program locks besides conversations, in the same [LockWatcher] and
// with ids like theirs, and conversations that it continues itself. Their methods follow those of LockWatcher.Watch, and report
// whether the id is one of theirs.
type Others interface {
	Orphaned(id event.ConversationID) bool
	Lost(id event.ConversationID) bool
}

type noOthers struct{}

func (noOthers) Orphaned(event.ConversationID) bool { return false }
func (noOthers) Lost(event.ConversationID) bool     { return false }

// takeOver continues a conversation whose process has ended.
func (m *Manager) takeOver(id event.ConversationID) {
	if others := m.others.Load(); others == nil || !(*others).Orphaned(id) {
		m.orphaned(id)
	}
}

// opened continues a conversation that was opened to look at it after its process has ended,
// but before that was noticed: by then it is this process that has the lock.
func (m *Manager) opened(c *Conversation, now state.Status) {
	if now == state.Running && m.others.Load() != nil && !c.resuming.Load() {
		m.running.Go(func() { m.takeOver(c.id) })
	}
}

// orphaned continues a conversation whose process has ended.
func (m *Manager) orphaned(id event.ConversationID) {
	info, err := m.o.Store.Info(m.ctx, id)
	switch {
	case err == nil && info.Status == string(state.Running):
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
