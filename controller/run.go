package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/state"
)

// ErrRunning is returned for a run beside another one. Its kind is
// fault.Conflict.
var ErrRunning = fault.New(fault.Conflict, "the conversation is already running")

// ErrClosed refuses runs and appended events after [Controller.Close]. Its kind is
// fault.Conflict.
var ErrClosed = fault.New(fault.Conflict, "the conversation is closed here")

// RunOptions configure a run.
type RunOptions struct {
	// Judge is called when the agent has come to an end and no message waits
	// for an answer; it reports whether the run goes on, for which it has sent
	// a message. Its context ends when the run is stopped. Nil for not.
	Judge func(ctx context.Context) (again bool)
	// Starting is called when the run may begin, before the conversation is
	// Running; the function that it returns is called when that is stored, or
	// cannot be. Nil for not.
	Starting func() (stored func())
	// Settled is called whenever the agent has come to an end, before another
	// run can begin. Nil for not.
	Settled func(ctx context.Context)
}

// run is the one run that a Controller can have at a time. It passes through
// its phases in their order; from working or judging it goes back to starting
// when a message wants an answer.
type run struct {
	o       RunOptions
	release func()        // returns the permit
	done    chan struct{} // closed when the run is over
	// condensed is closed when the condensation on request is over.
	condensed chan struct{}

	mu       sync.Mutex // guards the fields below; the last lock to take
	followed bool       // somebody waits for the condensation to begin a run
	phase    phase
	stopping stop
	wanted   wanted
	cancel   context.CancelFunc           // of the call to the LLM, of Judge or BeforeActions
	active   map[event.ID]runtime.Runtime // actions that run now
}

// phase is how far a run has come.
type phase int

const (
	starting   phase = iota // the state does not say Running yet
	working                 // the agent takes steps
	judging                 // RunOptions.Judge is asked
	condensing              // not a run: a condensation on request, which one may follow
)

// stop says how a run was asked to stop.
type stop int

const (
	goOn stop = iota
	pausing
	interrupting
)

// wanted says whether a message wants the run to go on after its end.
type wanted int

const (
	nothing wanted = iota
	answer         // to a message that came while the agent worked
	retry          // to one that came when the agent had come to an end
)

func (r *run) stopped() stop {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}

// starting calls RunOptions.Starting.
func (r *run) starting() (stored func()) {
	if r.o.Starting == nil {
		return func() {}
	}
	return r.o.Starting()
}

func (r *run) enter(p phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = p
}

// Run works on the conversation until it finishes, fails, is stopped, waits for
// confirmation or reaches a limit; the State's status says which. A run that waits
// for confirmation is confirmed by running it. When ctx ends, Run returns its
// error at once and leaves the conversation Running: actions in the sandbox go on,
// and a later Run takes them up.
func (c *Controller) Run(ctx context.Context) error {
	work, err := c.Start(ctx, RunOptions{})
	if err != nil {
		return err
	}
	return work(ctx)
}

// Start is the beginning of [Controller.Run]: when it returns, the
// conversation is Running for everybody to see (unless it is finished), and
// the caller must call work, which does the rest. [ErrRunning] if it runs
// already; a run that has come to its end, and a condensation, is waited for. [ErrClosed] after
// [Controller.Close], the error of [Config.Permit] if there is no permit.
func (c *Controller) Start(ctx context.Context, o RunOptions) (work func(context.Context) error, err error) {
	for {
		r, err := c.claim(o, starting)
		if err == nil {
			return c.begin(ctx, r)
		}
		present := c.present()
		if present != nil && present.isCondensing() {
			if err := present.waitCondensed(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if !errors.Is(err, ErrRunning) || present != nil && !c.ending(present) {
			return nil, err
		}
		if err := present.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// ending reports whether a run is at its end: clients see its last event
// before it is over.
func (c *Controller) ending(r *run) bool {
	r.mu.Lock()
	may := r.phase == working && r.wanted == nothing && r.o.Judge == nil
	r.mu.Unlock()
	return may && c.Latest().Status != state.Running
}

// Ending reports whether a run has stored its end and is not over yet: clients see the end
// before the permit is free. [Controller.Wait] waits until it is.
func (c *Controller) Ending() bool {
	r := c.present()
	return r != nil && c.ending(r)
}

// begin makes the conversation Running.
func (c *Controller) begin(ctx context.Context, r *run) (work func(context.Context) error, err error) {
	stored := r.starting()
	before, err := c.markRunning(ctx, r)
	stored()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return c.drive(ctx, r, before, nil) }, nil
}

// markRunning stores that the conversation is Running, unless it is finished, and
// returns the status before. An error ends the run.
func (c *Controller) markRunning(ctx context.Context, r *run) (before state.Status, err error) {
	before = c.State().Status
	if before != state.Running && before != state.Finished {
		if err = c.append(ctx, status(state.Running)); err != nil {
			err = c.broken(ctx, r, err)
		}
	}
	return before, err
}

// SendRun is [Controller.Send] and [Controller.Start] in one: the message and
// the status are stored together, and the agent begins meanwhile. work is nil
// if a run is at work, which takes the message in; after a condensation on
// request, work waits for it. The error of
// [Config.Permit] means that the message is stored and does not run; after
// [ErrClosed] it may be stored, see [Controller.Has].
func (c *Controller) SendRun(ctx context.Context, msg *event.MessageEvent, o RunOptions, notes ...event.Event) (work func(context.Context) error, err error) {
	r, err := c.claim(o, starting)
	if errors.Is(err, ErrClosed) {
		return nil, err
	}
	if err != nil {
		if err := c.Send(ctx, msg, notes...); err != nil {
			return nil, err
		}
		return c.runStored(ctx, o)
	}
	before := state.Idle
	var next *pendingStep
	stored := r.starting()
	err = c.appendDuring(ctx, func(now *state.State) ([]event.Event, error) {
		evs, err := c.message(now, msg, notes)
		if before = now.Status; before != state.Running {
			evs = append(evs, status(state.Running))
		}
		return evs, err
	}, func(s *state.State) { next = c.ahead(context.WithoutCancel(ctx), r, s) })
	stored()
	if err != nil {
		next.discard()
		c.over(r)
		return nil, err
	}
	return func(ctx context.Context) error {
		if next != nil {
			defer context.AfterFunc(ctx, next.cancel)()
		}
		return c.drive(ctx, r, before, next)
	}, nil
}

// runStored runs for a message that is stored.
func (c *Controller) runStored(ctx context.Context, o RunOptions) (work func(context.Context) error, err error) {
	for {
		switch present := c.present(); {
		case present == nil:
		case present.isCondensing(): // which answers no message
			if work, ok, err := c.runAfter(present, o); ok {
				return work, err
			}
			continue
		case c.want(present):
			return nil, nil
		}
		r, err := c.claim(o, starting)
		if errors.Is(err, ErrRunning) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return c.begin(ctx, r)
	}
}

func (r *run) isCondensing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase == condensing
}

// want asks a run to answer a message after its end; false if it is over.
func (c *Controller) want(r *run) bool {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	if c.run != r {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = answer
	if c.State().Status != state.Running {
		r.wanted = retry
	}
	return true
}

// claim makes the caller the one who runs.
func (c *Controller) claim(o RunOptions, p phase) (*run, error) {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	switch {
	case c.run != nil:
		return nil, ErrRunning
	case c.closed:
		return nil, ErrClosed
	}
	r := &run{o: o, release: func() {}, phase: p, done: make(chan struct{}), condensed: make(chan struct{}), active: map[event.ID]runtime.Runtime{}}
	if c.cfg.Permit != nil && p != condensing {
		release, err := c.cfg.Permit()
		if err != nil {
			return nil, err
		}
		r.release = release
	}
	c.run, c.failure = r, nil
	return r, nil
}

// present returns the run that is at work, or nil.
func (c *Controller) present() *run {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	return c.run
}

// Close refuses all further runs, condensations and events with [ErrClosed], so that
// the conversation's resources can be released, and another Controller can take over.
// It waits for an append in progress. [ErrRunning], and nothing changes, while a run is
// at work.
func (c *Controller) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runMu.Lock()
	defer c.runMu.Unlock()
	if c.run != nil {
		return ErrRunning
	}
	c.closed = true
	return nil
}

func (c *Controller) isClosed() bool {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	return c.closed
}

// Busy reports whether a run is at work.
func (c *Controller) Busy() bool { return c.present() != nil }

// over ends a run.
func (c *Controller) over(r *run) {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	c.end(r)
}

// broken ends a run that could not record how it ended, and returns why.
func (c *Controller) broken(ctx context.Context, r *run, err error) error {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	if ctx.Err() == nil { // otherwise it was left
		c.failure = err
	}
	c.end(r)
	return err
}

// Failure returns why the last run is over without having recorded it, for example because
// the event store is full: the State says Running still. Nil during a run, and after others.
func (c *Controller) Failure() error {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	return c.failure
}

// end ends a run; the caller holds runMu.
func (c *Controller) end(r *run) {
	r.release()
	c.run = nil
	close(r.done)
}

// drive runs until nothing wants the run to go on.
func (c *Controller) drive(ctx context.Context, r *run, before state.Status, next *pendingStep) error {
	for {
		r.enter(working)
		// An earlier process may have asked for pending actions, unless they waited for
		// the user.
		err := c.loop(ctx, r, before != state.Confirming, next)
		if r.o.Settled != nil {
			r.o.Settled(ctx)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return c.broken(ctx, r, err)
		}
		again := c.takeWanted(r) || c.judge(ctx, r)
		if !again && c.overUnlessWanted(r) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return c.broken(ctx, r, err)
		}
		next = nil
		if before, err = c.markRunning(ctx, r); err != nil {
			return err
		}
	}
}

// judge asks whether the run goes on.
func (c *Controller) judge(ctx context.Context, r *run) (again bool) {
	if r.o.Judge == nil {
		return false
	}
	r.enter(judging)
	ctx, cancel := r.cancelable(ctx)
	defer cancel()
	return r.o.Judge(ctx)
}

// cancelable returns a context that ends when the run is stopped.
func (r *run) cancelable(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = cancel
	if r.stopping != goOn {
		cancel()
	}
	return ctx, cancel
}

// takeWanted reports whether a message wants the run to go on, and the
// conversation stands so that there is something to do. A run that has failed
// is not tried again for a message that it knew.
func (c *Controller) takeWanted(r *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, w := c.State().Status, r.wanted
	r.wanted = nothing
	if w == nothing || s != state.Idle && s != state.Paused && !(s == state.Errored && w == retry) {
		return false
	}
	r.phase, r.stopping = starting, goOn // the message came after the stop
	return true
}

// overUnlessWanted ends a run, unless a message wants it to go on at the last
// moment: the sender of a message finds either a run that takes note of it, or
// none.
func (c *Controller) overUnlessWanted(r *run) bool {
	c.runMu.Lock()
	defer c.runMu.Unlock()
	if c.takeWanted(r) {
		return false
	}
	c.end(r)
	return true
}

// Wait returns when the present run, if any, is over.
func (c *Controller) Wait(ctx context.Context) error {
	if r := c.present(); r != nil {
		return r.wait(ctx)
	}
	return nil
}

// wait returns when the run is over; a nil run is.
func (r *run) wait(ctx context.Context) error {
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Pause stops the run before its next step: a call to the LLM is given up, a
// running action ends by itself first. It does not wait, and reports whether there
// is a run. Messages that wait are not answered after the run. A condensation on
// request is given up as well, but is no run.
func (c *Controller) Pause() (running bool) { return c.stop(pausing) != nil }

// Interrupt stops the run at once: a call to the LLM is given up and running
// actions are stopped. It does not wait; Run returns when all is recorded.
func (c *Controller) Interrupt(ctx context.Context) (running bool, err error) {
	r := c.stop(interrupting)
	if r == nil {
		return false, nil
	}
	c.cfg.Hooks.Interrupt()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, rt := range r.active {
		if err := rt.Interrupt(ctx, id); err != nil {
			return true, fmt.Errorf("interrupt action %s: %w", id, err)
		}
	}
	return true, nil
}

func (c *Controller) stop(how stop) *run {
	r := c.present()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping, r.wanted = max(r.stopping, how), nothing
	if r.cancel != nil {
		r.cancel()
	}
	if r.phase == condensing { // which records no stop
		return nil
	}
	return r
}
