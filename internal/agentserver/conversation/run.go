package conversation

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/state"
)

// runs is what a conversation knows of its runs.
type runs struct {
	mu    sync.Mutex
	on    bool
	again bool // a message came that wants another run
	stops int  // explicit stops; a run that is to follow gives way to one
	done  chan struct{}
}

func (r *runs) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.on
}

// errRunning is told to who starts a run beside another.
var errRunning = fault.New(fault.Conflict, "conversation already running")

// errCapacity is told when all permits are taken.
var errCapacity = fault.New(fault.RateLimit, "Maximum number of concurrent conversation runs reached").
	Hint("try again when another conversation has ended, or raise max_concurrent_runs")

// Run starts a run and returns when the conversation is running. Conflict if
// it is already, RateLimit if the server has no capacity. What the run came
// to is in the events.
func (c *Conversation) Run(ctx context.Context) error { return c.start(ctx, nil) }

// start is Run; after is called at the end of the run, before the final state
// is published, and says whether to run once more under the same permit.
func (c *Conversation) start(ctx context.Context, after func(context.Context) (again bool)) error {
	w, err := c.begin(ctx)
	if err != nil {
		return err
	}
	return c.startRun(w, func() (func(context.Context) error, error) { return w.Start(context.WithoutCancel(ctx)) }, after)
}

// startRun claims the conversation and a permit, and runs what begin starts.
func (c *Conversation) startRun(w *work, begin func() (func(context.Context) error, error), after func(context.Context) bool) error {
	c.run.mu.Lock()
	if c.run.on {
		c.run.mu.Unlock()
		return errRunning
	}
	permit, err := c.m.permit()
	if err != nil {
		c.run.mu.Unlock()
		return err
	}
	c.run.on, c.run.again, c.run.done = true, false, make(chan struct{})
	c.run.mu.Unlock()
	work, err := begin()
	if err != nil || work == nil {
		permit()
		c.finished(nil)
		return err
	}
	c.m.active.Add(1)
	c.m.running.Go(func() {
		c.drive(w, work, after)
		c.ended.Store(time.Now().UnixNano())
		c.m.active.Add(-1)
		permit()
		c.finished(w)
	})
	return nil
}

// permit takes one of the server's permits to run.
func (m *Manager) permit() (release func(), err error) {
	if m.runs == nil {
		return func() {}, nil
	}
	select {
	case m.runs <- struct{}{}:
		return func() { <-m.runs }, nil
	default:
		return nil, errCapacity
	}
}

// drive runs until nothing asks for another run.
func (c *Conversation) drive(w *work, work func(context.Context) error, after func(context.Context) bool) {
	for {
		err := work(c.m.ctx)
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled) && c.m.ctx.Err() != nil:
			return // another server goes on
		default:
			c.m.o.Log.Error("a run failed", "conversation", c.id, "err", err)
			c.publishError("RunFailed", err)
		}
		again := c.run.takeAgain() && w.State().Status == state.Idle
		if err == nil && !again && after != nil {
			again = after(c.m.ctx)
		}
		if !again || err != nil || c.m.ctx.Err() != nil {
			return
		}
		if work, err = w.Start(c.m.ctx); err != nil {
			c.m.o.Log.Error("run again", "conversation", c.id, "err", err)
			return
		}
	}
}

func (r *runs) takeAgain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := r.again
	r.again = false
	return again
}

// rerun asks for another run after the present one. It reports whether there
// is a present one.
func (c *Conversation) rerun() bool {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if c.run.on {
		c.run.again = true
	}
	return c.run.on
}

// finished publishes the state at the end of a run, and once more a little
// later: a client that starts a run begins to listen only after the answer
// (sdk-wire.md section 0).
func (c *Conversation) finished(w *work) {
	c.run.mu.Lock()
	late := c.run.again
	c.run.on = false
	close(c.run.done)
	c.run.mu.Unlock()
	if w == nil {
		return
	}
	if late && w.State().Status == state.Idle { // it came while the run ended
		if err := c.Run(c.m.ctx); err == nil || errors.Is(err, errRunning) {
			return
		}
	}
	c.PublishState()
	c.keep(w)
	c.m.repeat(c)
}

// repeat publishes the state again after a moment, if the conversation is
// still at rest then.
func (m *Manager) repeat(c *Conversation) {
	if !c.hub.watched() {
		return
	}
	m.running.Go(func() {
		t := time.NewTimer(DefaultRepeat)
		defer t.Stop()
		select {
		case <-t.C:
			if !c.run.busy() {
				c.PublishState()
			}
		case <-m.ctx.Done():
		}
	})
}

// PublishState tells watchers the state as it is now.
func (c *Conversation) PublishState() {
	w := c.open.Load()
	if w == nil || !c.hub.watched() {
		return
	}
	c.publishing.Lock() // what is made later must not be told earlier
	defer c.publishing.Unlock()
	s := w.State()
	c.mu.Lock()
	raw, err := c.fullState(s)
	c.mu.Unlock()
	if err != nil {
		c.m.o.Log.Error("publish the state", "conversation", c.id, "err", err)
		return
	}
	c.hub.publish(Transient{After: seqOf(s), Event: raw, FullState: true})
}

// publishError tells watchers of an error that is not part of the
// conversation.
func (c *Conversation) publishError(code string, err error) {
	ev := &event.ServerErrorEvent{Base: event.NewBase(event.SourceEnvironment), Code: code, Detail: err.Error()}
	ev.Timestamp = event.Now()
	raw, merr := event.Marshal(ev)
	if merr != nil {
		c.m.o.Log.Error("publish an error", "conversation", c.id, "err", merr)
		return
	}
	var after Transient
	if w := c.open.Load(); w != nil {
		after.After = seqOf(w.State())
	}
	after.Event = raw
	c.hub.publish(after)
}

// Wait returns when no run is at work.
func (c *Conversation) Wait(ctx context.Context) error {
	c.run.mu.Lock()
	done, on := c.run.done, c.run.on
	c.run.mu.Unlock()
	if !on {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
