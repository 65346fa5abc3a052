package session

import (
	"context"
	"errors"
	"time"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// ErrRunning is returned for a run beside another one.
var ErrRunning = controller.ErrRunning

// ErrCapacity is returned when all permits to run are taken.
var ErrCapacity = fault.New(fault.RateLimit, "Conversation run limit reached. Retry the request later.").
	Hint("try again when another conversation has ended, or raise max_concurrent_runs")

// Run starts a run and returns when the conversation is running. [ErrRunning]
// if it is already, [ErrCapacity] if there is no permit. What the run came to is
// in the events.
func (c *Conversation) Run(ctx context.Context) error {
	return c.withWorker(ctx, func(w *worker) error {
		return w.drive(ctx, func(o controller.RunOptions) (func(context.Context) error, error) { return w.Start(ctx, o) })
	})
}

// withWorker calls f with what the conversation works with, and again with a new
// worker if that one is closed before f can append to it or begin a run.
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
func (w *worker) sendRun(ctx context.Context, ev *event.MessageEvent, stored bool) error {
	err := w.drive(ctx, func(o controller.RunOptions) (func(context.Context) error, error) {
		if stored {
			return w.Start(ctx, o)
		}
		return w.SendRun(ctx, ev, o)
	})
	if errors.Is(err, ErrCapacity) {
		return ErrSaved
	}
	return err
}

// drive does in the background what begin has begun, with a model if one is set up.
func (w *worker) drive(ctx context.Context, begin func(controller.RunOptions) (func(context.Context) error, error)) error {
	if err := w.takeModel(ctx); err != nil {
		return err
	}
	if !w.Busy() {
		w.tasks.reset()
	}
	work, err := begin(controller.RunOptions{
		Settled: w.answers.settle,
		Starting: func() (stored func()) { // the end of the run before is not published any more
			w.c.publishing.Lock()
			return w.c.publishing.Unlock
		},
	})
	if err != nil || work == nil {
		return err
	}
	w.warm()
	w.c.m.running.Go(func() {
		err := work(w.ctx)
		if err != nil && w.ctx.Err() == nil { // otherwise another process goes on
			w.c.m.o.Log.Error("a run failed", "conversation", w.c.id, "err", err)
			w.c.publishError("RunFailed", err)
		}
		if err := w.countInHost(w.c.m.ctx); err != nil && w.ctx.Err() == nil {
			w.c.m.o.Log.Warn("count a sub-agent in its parent", "conversation", w.c.id, "err", err)
		}
		w.finished()
		w.title.afterTurn()
	})
	return nil
}

// permit takes one of the permits to run.
func (c *Conversation) permit() (release func(), err error) {
	free := func() {}
	if runs := c.m.runs; runs != nil && !c.hostBusy() {
		select {
		case runs <- struct{}{}:
			free = func() { <-runs }
		default:
			return nil, ErrCapacity
		}
	}
	c.m.active.Add(1)
	return func() {
		c.ended.Store(time.Now().UnixNano())
		c.m.active.Add(-1)
		free()
	}, nil
}

// hostBusy reports whether the conversation's parent waits for it, and has a permit.
func (c *Conversation) hostBusy() bool {
	w := c.active.Load()
	return w != nil && w.host != nil && w.host.Busy()
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
	w.c.PublishState()
	w.saveSummaryLater()
	w.c.m.republishLater(w.c)
}

// PublishState publishes the state as it is now.
func (c *Conversation) PublishState() { c.publishState(true) }

// publishState publishes the state to watchers, and to the observer too.
func (c *Conversation) publishState(observer bool) {
	w := c.active.Load()
	if w == nil || !c.hub.watched() && !(observer && c.m.o.Observer != nil) {
		return
	}
	c.publishing.Lock() // what is made later must not be told earlier
	defer c.publishing.Unlock()
	s := w.State()
	raw, err := c.fullState(s)
	if err != nil {
		c.m.o.Log.Error("publish the state", "conversation", c.id, "err", err)
		return
	}
	c.hub.publish(Transient{After: seqOf(s), Event: raw, FullState: true})
	if observer && c.m.o.Observer != nil {
		c.m.o.Observer.Published(c.id, raw)
	}
}

// publishError publishes an error that is not part of the conversation.
func (c *Conversation) publishError(code string, err error) {
	c.publishEvent(&event.ServerErrorEvent{Base: event.NewBase(event.SourceEnvironment), Code: code, Detail: err.Error()})
}

// publishSandboxEnd tells watchers that the sandbox has ended, so that they ask what is left
// of it. It is no part of the conversation: the next action has another one started.
func (c *Conversation) publishSandboxEnd(st sandbox.Status) {
	ev, err := event.NewStateUpdate(keySandbox, st)
	if err != nil {
		c.m.o.Log.Error("publish the end of a sandbox", "conversation", c.id, "err", err)
		return
	}
	c.publishEvent(ev)
}

// publishEvent publishes an event that is never stored.
func (c *Conversation) publishEvent(ev event.Event) {
	raw, err := event.Marshal(ev)
	if err != nil {
		c.m.o.Log.Error("publish an event", "conversation", c.id, "kind", ev.Kind(), "err", err)
		return
	}
	t := Transient{Event: raw}
	if w := c.active.Load(); w != nil {
		t.After = seqOf(w.State())
	}
	c.hub.publish(t)
}

// Wait returns when no run is at work.
func (c *Conversation) Wait(ctx context.Context) error {
	if w := c.active.Load(); w != nil {
		return w.Wait(ctx)
	}
	return nil
}

// Failure returns why the last run is over without having recorded it, for example because
// the event store is full; nil after others.
func (c *Conversation) Failure() error {
	if w := c.active.Load(); w != nil {
		return w.Failure()
	}
	return nil
}
