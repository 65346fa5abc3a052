package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// runs is what a conversation knows of its runs.
type runs struct {
	mu    sync.Mutex
	on    bool
	again bool // a message came that wants another run
	fresh bool // it came after the controller's run had ended
	halt  halt // how the present run was asked to stop
	begun bool // the state says so by now
	goal  bool // what it has come to is judged at its end
	quit  func()
	done  chan struct{}
}

// halt is how a run is stopped.
type halt int

const (
	proceed halt = iota
	pausing
	interrupting
)

func (r *runs) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.on
}

// ErrRunning is returned for a run beside another one.
var ErrRunning = fault.New(fault.Conflict, "conversation already running")

// ErrCapacity is returned when all permits to run are taken.
var ErrCapacity = fault.New(fault.RateLimit, "Conversation run limit reached. Retry the request later.").
	Hint("try again when another conversation has ended, or raise max_concurrent_runs")

// Run starts a run and returns when the conversation is running. Conflict if
// it is already, RateLimit if the server has no capacity. What the run came
// to is in the events.
func (c *Conversation) Run(ctx context.Context) error { return c.startRunning(ctx, nil) }

// startRunning is Run; after is called at the end of the run, before the final state
// is published, and says whether to run once more under the same permit.
func (c *Conversation) startRunning(ctx context.Context, after func(context.Context) (again bool)) error {
	w, err := c.work(ctx)
	if err != nil {
		return err
	}
	begin := func() (func(context.Context) error, error) { return w.Start(context.WithoutCancel(ctx)) }
	for {
		err = c.startRun(w, begin, after)
		if !errors.Is(err, ErrRunning) || !c.ending(w) {
			return err
		}
		if err := c.Wait(ctx); err != nil {
			return err
		}
	}
}

// ending reports whether the present run is at its end, and only has not
// closed its books: clients see the last event before that.
func (c *Conversation) ending(w *worker) bool {
	c.run.mu.Lock()
	may := c.run.begun && !c.run.goal && !c.run.again
	c.run.mu.Unlock()
	return may && w.Latest().Status != state.Running
}

// startRun claims the conversation and a permit, and runs what begin starts.
func (c *Conversation) startRun(w *worker, begin func() (func(context.Context) error, error), after func(context.Context) bool) error {
	c.run.mu.Lock()
	if c.run.on {
		c.run.mu.Unlock()
		return ErrRunning
	}
	permit, err := c.m.permit()
	if err != nil {
		c.run.mu.Unlock()
		return err
	}
	c.run.on, c.run.again, c.run.halt, c.run.done = true, false, proceed, make(chan struct{})
	c.run.begun, c.run.goal = false, after != nil
	c.run.mu.Unlock()
	c.publishing.Lock() // nobody is told of the rest any more
	work, err := begin()
	c.publishing.Unlock()
	if err != nil || work == nil {
		c.run.end(permit)
		return err
	}
	c.run.setBegun()
	c.applyPendingStop(w)
	c.warm(w)
	c.m.active.Add(1)
	c.m.running.Go(func() {
		c.drive(w, work, after, func() {
			c.ended.Store(time.Now().UnixNano())
			c.m.active.Add(-1)
			permit()
		})
		c.finished(w)
	})
	return nil
}

// warm has the outfit get ready while the model thinks.
func (c *Conversation) warm(w *worker) {
	if w.res.Warm == nil {
		return
	}
	c.m.running.Go(func() {
		if err := w.res.Warm(c.m.ctx); err != nil { // the first action will tell
			c.m.o.Log.Debug("get ready", "conversation", c.id, "err", err)
		}
	})
}

// applyPendingStop stops a run that was to stop before the controller had it.
func (c *Conversation) applyPendingStop(w *worker) {
	c.run.mu.Lock()
	how := c.run.halt
	c.run.mu.Unlock()
	if err := how.tell(c.m.ctx, w); err != nil {
		c.m.o.Log.Warn("stop a run", "conversation", c.id, "err", err)
	}
}

// tell stops what the controller runs.
func (h halt) tell(ctx context.Context, w *worker) error {
	switch h {
	case pausing:
		w.Pause()
	case interrupting:
		return w.Interrupt(ctx)
	}
	return nil
}

// halt stops the present run and what would follow it; on is false if there is
// none.
func (c *Conversation) halt(ctx context.Context, w *worker, how halt) (on bool, err error) {
	c.run.mu.Lock()
	c.run.again = false
	on = c.run.on
	c.run.halt = max(c.run.halt, how)
	quit := c.run.quit
	c.run.mu.Unlock()
	if !on {
		return false, nil
	}
	if quit != nil {
		quit()
	}
	return true, how.tell(ctx, w)
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
		return nil, ErrCapacity
	}
}

// drive runs until nothing asks for another run; then it releases what the
// run held.
func (c *Conversation) drive(w *worker, work func(context.Context) error, after func(context.Context) bool, release func()) {
	for {
		err := work(c.m.ctx)
		w.answers.settle(c.m.ctx) // while no other run can begin
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled) && c.m.ctx.Err() != nil:
			c.run.end(release)
			return // another server goes on
		default:
			c.m.o.Log.Error("a run failed", "conversation", c.id, "err", err)
			c.publishError("RunFailed", err)
			c.run.end(release)
			return
		}
		again := c.run.takeAgain(w)
		if !again && after != nil {
			again = c.afterwards(after)
		}
		if c.m.ctx.Err() != nil {
			c.run.end(release)
			return
		}
		if !again && c.run.over(w, release) {
			return
		}
		if work, err = w.Start(c.m.ctx); err != nil {
			c.m.o.Log.Error("run again", "conversation", c.id, "err", err)
			c.run.end(release)
			return
		}
		c.run.setBegun()
		c.applyPendingStop(w)
	}
}

// afterwards calls after with a context that ends when the run is stopped.
func (c *Conversation) afterwards(after func(context.Context) bool) (again bool) {
	ctx, cancel := context.WithCancel(c.m.ctx)
	defer cancel()
	c.run.mu.Lock()
	c.run.quit = cancel
	if c.run.halt != proceed {
		cancel()
	}
	c.run.mu.Unlock()
	again = after(ctx)
	c.run.mu.Lock()
	c.run.quit = nil
	c.run.mu.Unlock()
	return again
}

func (r *runs) setBegun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = true
}

// takeAgain takes the wish for another run, where the conversation stands so
// that there is something to do. A run that has failed is not tried again for
// a message that it knew.
func (r *runs) takeAgain(w *worker) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted(w)
}

func (r *runs) wanted(w *worker) bool {
	s := w.State().Status
	again := r.again && (s == state.Idle || s == state.Paused || s == state.Errored && r.fresh)
	r.again, r.fresh = false, false
	if again {
		r.begun = false
		r.halt = proceed // the message came after it
	}
	return again
}

// over ends the run, unless another is wanted at the last moment: who sends a
// message finds either a run that takes note of it, or none.
func (r *runs) over(w *worker, release func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted(w) {
		return false
	}
	r.finish(release)
	return true
}

// end ends the run.
func (r *runs) end(release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish(release)
}

func (r *runs) finish(release func()) {
	release()
	r.on, r.again, r.fresh = false, false, false
	close(r.done)
}

// rerun asks for another run after the present one. It reports whether there
// is a present one.
func (c *Conversation) rerun(w *worker) bool {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if c.run.on {
		c.run.again = true
		c.run.fresh = w.State().Status != state.Running
	}
	return c.run.on
}

// finished publishes the state at the end of a run, and once more a little
// later: a client that starts a run begins to listen only after the answer
// (docs/openhands/sdk-wire.md section 0).
func (c *Conversation) finished(w *worker) {
	c.PublishState()
	c.saveSummaryLater(w)
	c.m.republishLater(c)
}

// PublishState tells watchers the state as it is now.
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
	c.mu.Lock()
	raw, err := c.fullState(s)
	c.mu.Unlock()
	if err != nil {
		c.m.o.Log.Error("publish the state", "conversation", c.id, "err", err)
		return
	}
	c.hub.publish(Transient{After: seqOf(s), Event: raw, FullState: true})
	if observer && c.m.o.Observer != nil {
		c.m.o.Observer.Published(c.id, raw)
	}
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
	if w := c.active.Load(); w != nil {
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
