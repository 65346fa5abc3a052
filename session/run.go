package session

import (
	"context"
	"errors"
	"time"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// ErrRunning is returned for a run beside another one.
var ErrRunning = controller.ErrRunning

// ErrCapacity is returned when all permits to run are taken.
var ErrCapacity = fault.New(fault.RateLimit, "Conversation run limit reached. Retry the request later.").
	Hint("try again when another conversation has ended, or raise max_concurrent_runs")

// Run starts a run and returns when the conversation is running. [ErrRunning] if it is already,
// [ErrCapacity] if there is no permit. The events have the result of the run.
func (c *Conversation) Run(ctx context.Context) error {
	return c.withWorker(ctx, func(w *worker) error {
		if err := w.begin(ctx); err != nil {
			return err
		}
		return w.drive(ctx, func(o controller.RunOptions) (func(context.Context) error, error) { return w.Start(ctx, o) })
	})
}

// withWorker calls f with the worker, and again with a new one if the first is closed before f
// can append an event or begin a run.
func (c *Conversation) withWorker(ctx context.Context, f func(*worker) error) error {
	for {
		w, err := c.work(ctx)
		if err != nil {
			return err
		}
		if err := f(w); !errors.Is(err, controller.ErrClosed) || c.m.ctx.Err() != nil {
			return err
		}
		e := c.m.hold(c.id) // until whoever closes it is done
		c.m.release(c.id, e, e.c)
	}
}

// sendRun stores a message, unless it is stored, and runs for it. A run that is at
// work takes the message in.
func (w *worker) sendRun(ctx context.Context, ev *event.MessageEvent, notes []event.Event, stored bool) error {
	err := w.drive(ctx, func(o controller.RunOptions) (func(context.Context) error, error) {
		if stored {
			return w.Start(ctx, o)
		}
		return w.SendRun(ctx, ev, o, notes...)
	})
	if errors.Is(err, ErrCapacity) {
		return ErrSaved
	}
	return err
}

// drive begins a run and works on it in the background, with a model if one is set up.
func (w *worker) drive(ctx context.Context, begin func(controller.RunOptions) (func(context.Context) error, error)) error {
	if err := w.takeModel(ctx); err != nil {
		return err
	}
	if !w.Busy() {
		w.tasks.reset()
	}
	if err := w.c.m.awaitPermit(ctx); err != nil {
		return err
	}
	work, err := begin(controller.RunOptions{
		Settled: w.answers.settle,
		Starting: func() (stored func()) { // do not publish the previous run's end after this
			w.c.publish.making.Lock()
			return w.c.publish.making.Unlock
		},
	})
	if err != nil || work == nil {
		return err
	}
	w.warm()
	w.c.m.running.Go(func() {
		err := work(w.ctx)
		if err != nil && w.ctx.Err() == nil { // otherwise another process continues
			w.c.m.o.Log.Error("a run failed", "conversation", w.c.id, "err", err)
			w.c.publish.error("RunFailed", err)
		}
		if err := w.countInHost(w.c.m.ctx); err != nil && w.ctx.Err() == nil {
			w.c.m.o.Log.Warn("count a sub-agent in its parent", "conversation", w.c.id, "err", err)
		}
		w.finished()
		w.title.afterTurn()
		w.c.Queue().sendLater()
	})
	return nil
}

// allPermits reports whether all permits to run are taken.
func (m *Manager) allPermits() bool { return m.runs != nil && len(m.runs) == cap(m.runs) }

// ending returns a worker whose run has stored its end and still has its permit; nil if there
// is none.
func (m *Manager) ending() *worker {
	for _, c := range m.all() {
		if w := c.active.Load(); w != nil && w.Ending() {
			return w
		}
	}
	return nil
}

// awaitPermit waits for the permits of runs whose end clients have seen: a client that starts
// the next run after that finds one. It does not wait for runs that go on.
func (m *Manager) awaitPermit(ctx context.Context) error {
	for m.allPermits() {
		w := m.ending()
		if w == nil {
			return nil
		}
		if err := w.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// permit takes one of the permits to run.
func (c *Conversation) permit() (release func(), err error) {
	free := func() {}
	if runs, w := c.m.runs, c.active.Load(); runs != nil && (w == nil || !w.hostBusy()) {
		select {
		case runs <- struct{}{}:
			free = func() { <-runs }
		default:
			return nil, ErrCapacity
		}
	}
	c.m.active.Add(1)
	return func() {
		c.use.ended.Store(time.Now().UnixNano())
		c.m.active.Add(-1)
		free()
	}, nil
}

// busy reports whether a run is at work.
func (c *Conversation) busy() bool {
	w := c.active.Load()
	return w != nil && w.Busy()
}

// warm prepares the resources while the model answers.
func (w *worker) warm() {
	w.c.m.running.Go(func() {
		if err := w.res.Warm(w.c.m.ctx); err != nil { // the first action will tell
			w.c.m.o.Log.Debug("prepare a conversation", "conversation", w.c.id, "err", err)
		}
	})
}

// finished publishes the state at the end of a run, and once more a little
// later: a client that starts a run begins to listen only after the answer
// (docs/openhands/sdk-wire.md section 0).
func (w *worker) finished() {
	w.c.publish.state(true)
	w.saveSummaryLater()
	w.c.m.republishLater(w.c)
}

// Wait returns when no run is at work.
func (c *Conversation) Wait(ctx context.Context) error {
	if w := c.active.Load(); w != nil {
		return w.Wait(ctx)
	}
	return nil
}

// Failure returns the error of a last run that could not record its end, for example because
// the event store is full; nil after other runs.
func (c *Conversation) Failure() error {
	if w := c.active.Load(); w != nil {
		return w.Failure()
	}
	return nil
}
