package job

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/wait"
)

// active is a job at work on this server.
type active struct {
	id     string
	loaded *Job // nil if it is still to be read
	left   bool // by a server that has ended
	then   func()
	cancel context.CancelCauseFunc

	// The engine's mutex guards these.
	of      subject
	again   bool          // it was woken, and has not run since
	states  []Job         // the latest ones on this server
	passed  int           // states before these
	changed chan struct{} // closed when there is one more
}

// mostStates bounds how far followers of a job may lag behind.
const mostStates = 64

// Run is one run of a job, for its handler.
type Run struct {
	// Job is the job as it is stored, with the changes that Save is to store.
	Job
	e *Engine
	k *kind
	a *active
}

// Last reports whether the job fails if this run asks for another attempt.
func (r *Run) Last() bool { return r.k.last(r.Attempt + 1) }

// Save stores the changed fields of the job: Progress, Attempt, and a State that has ended,
// with which the job ends. by stores them instead of [Store.SaveJob], together with the
// handler's other rows, and returns [ErrLost] like it; nil for that. Followers see the job
// then.
func (r *Run) Save(ctx context.Context, by func(context.Context, Job) error) error {
	before := r.Updated
	r.Updated = now()
	var err error
	if by != nil {
		err = by(ctx, r.Job)
	} else {
		var cancelled bool
		if _, cancelled, err = r.e.o.Store.SaveJob(ctx, r.Job); cancelled && !r.State.Ended() {
			r.a.cancel(ErrCancelled)
		}
	}
	if err != nil {
		r.Updated = before
		return err
	}
	r.e.show(r.a, r.Job)
	return nil
}

// SetProgress encodes how far the job is.
func (r *Run) SetProgress(v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		r.Progress = raw
	}
	return err
}

// begin has a job done in the background, unless it is at work here.
func (e *Engine) begin(t *tenure, a *active) {
	if !e.tryBegin(t, a) && a.then != nil {
		a.then()
	}
}

func (e *Engine) tryBegin(t *tenure, a *active) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if before := t.atWork[a.id]; before != nil {
		before.again = true
		return false
	}
	if t.ctx.Err() != nil { // the next tenure takes it over
		return false
	}
	var ctx context.Context
	ctx, a.cancel = context.WithCancelCause(t.ctx)
	a.changed = make(chan struct{})
	if a.loaded != nil {
		a.of, a.states = subject{a.loaded.Kind, a.loaded.Subject}, []Job{*a.loaded}
	}
	t.atWork[a.id] = a
	t.working.Go(func() {
		defer a.cancel(nil)
		e.do(ctx, t, a)
		if a.then != nil {
			a.then()
		}
	})
	return true
}

// show passes a state of a job on to its followers.
func (e *Engine) show(a *active, j Job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(a.states) == mostStates {
		a.states = slices.Delete(a.states, 0, 1)
		a.passed++
	}
	a.states = append(a.states, j)
	close(a.changed)
	a.changed = make(chan struct{})
}

// do runs a job until this server has nothing to do with it now.
func (e *Engine) do(ctx context.Context, t *tenure, a *active) {
	if j := e.read(ctx, t, a); j != nil {
		for e.attempt(ctx, t, a, j) {
		}
	}
	e.mu.Lock()
	delete(t.atWork, a.id)
	close(a.changed)
	again, of := a.again, a.of
	e.mu.Unlock()
	if again && of.kind != "" { // when the run had ended
		e.Wake(of.kind, of.about)
	}
}

// read returns a job that this server is to do, as it is stored; nil if there is none.
func (e *Engine) read(ctx context.Context, t *tenure, a *active) *Job {
	if a.loaded != nil {
		return a.loaded
	}
	for failures := 1; ; failures++ {
		j, err := e.o.Store.Job(ctx, a.id)
		switch {
		case err == nil && j.State == Parked: // after the store has answered that it is at work
			e.mu.Lock()
			a.of, a.again = subject{j.Kind, j.Subject}, true
			e.mu.Unlock()
			return nil
		case err == nil && (j.Server != t.id || j.State != Ready), fault.Is(err, fault.NotFound):
			return nil
		case err == nil:
			e.mu.Lock()
			a.of = subject{j.Kind, j.Subject}
			e.mu.Unlock()
			return &j
		case !transient(err): // no key opens it, say
			e.o.Log.Warn("a job cannot be read", "job", a.id, "err", err)
			return nil
		case !e.pause(ctx, failures, "read a job", err):
			return nil
		}
	}
}

// storePause has the pauses while the store does not answer.
var storePause = newKind(Kind{Attempts: -1, Pause: 250 * time.Millisecond, MaxPause: 30 * time.Second})

// transient reports whether a store may answer later.
func transient(err error) bool {
	k := fault.KindOf(err)
	return k == fault.Unavailable || k == fault.Timeout || k == fault.Full
}

// pause waits after a failure of the store. It returns false if ctx ends.
func (e *Engine) pause(ctx context.Context, failures int, doing string, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	e.o.Log.Warn("the store of jobs does not answer", "while", doing, "err", err)
	return wait.For(ctx, storePause.pause(failures)) == nil
}

// attempt runs a job once when it is due, and stores the outcome. more reports whether it is
// to be run again.
func (e *Engine) attempt(ctx context.Context, t *tenure, a *active, j *Job) (more bool) {
	e.mu.Lock()
	k := e.kinds[j.Kind]
	e.mu.Unlock()
	if k == nil { // of a program with more kinds, which does it
		e.o.Log.Warn("the kind of a job is not known to this server", "job", j.ID, "kind", j.Kind)
		return false
	}
	r := &Run{Job: *j, e: e, k: k, a: a}
	err := error(errLeft)
	if !a.left || !k.EndsWithServer {
		err = e.call(ctx, r)
	}
	a.left = false
	if t.ctx.Err() != nil || errors.Is(err, ErrLost) || r.State.Ended() {
		return false
	}
	e.judge(ctx, r, err)
	more = r.State == Ready && r.Due.IsZero() || e.keep(t, r)
	*j = r.Job
	return more
}

// wokenHere reports whether a job was woken on this server since its run began.
func (e *Engine) wokenHere(a *active) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return a.again
}

var errLeft = fault.New(fault.Interrupted, "the server that did the job has ended, and the job is not repeated")

// call has the handler run a job when it is due.
func (e *Engine) call(ctx context.Context, r *Run) error {
	if !r.Due.IsZero() && wait.For(ctx, time.Until(r.Due)) != nil {
		return context.Cause(ctx)
	}
	end, err := r.k.begin(ctx)
	if err != nil {
		return context.Cause(ctx)
	}
	defer end()
	e.mu.Lock()
	r.a.again = false // this run sees why it was woken
	e.mu.Unlock()
	return r.k.Handler.Run(ctx, r)
}

// judge applies the outcome of a run to a job.
func (e *Engine) judge(ctx context.Context, r *Run, err error) {
	switch retry, asked := errors.AsType[again](err); {
	case errors.Is(context.Cause(ctx), ErrCancelled):
		r.State, r.Error = Cancelled, ErrCancelled.Error()
	case err == nil:
		r.State = Done
	case errors.Is(err, ErrPark):
		r.State, r.Attempt, r.Due = Parked, 0, time.Time{}
		if e.wokenHere(r.a) {
			r.State = Ready
		}
	case asked && !r.Last():
		r.Attempt++
		r.Due = now().Add(r.k.pause(r.Attempt))
		e.o.Log.Debug("a job is tried again", "job", r.ID, "kind", r.Kind, "attempt", r.Attempt, "err", retry.error)
	default:
		r.State, r.Error = Failed, err.Error()
		e.o.Log.Warn("a job has failed", "job", r.ID, "kind", r.Kind, "err", err)
	}
	if r.State.Ended() {
		r.Due = time.Time{}
	}
}

// keep stores the outcome of a run, also when the job is cancelled meanwhile. more reports
// whether the job is to be run again.
func (e *Engine) keep(t *tenure, r *Run) (more bool) {
	for failures := 1; ; failures++ {
		r.Updated = now()
		woken, cancelled, err := e.o.Store.SaveJob(t.ctx, r.Job)
		switch {
		case err == nil && woken: // before it has parked
			r.State = Ready
			return true
		case err == nil:
			e.show(r.a, r.Job)
			if cancelled && r.State == Ready {
				r.a.cancel(ErrCancelled)
			}
			return r.State == Ready
		case errors.Is(err, ErrLost):
			return false
		case !transient(err):
			e.o.Log.Error("the outcome of a job is lost", "job", r.ID, "kind", r.Kind, "state", r.State, "err", err)
			return false
		case !e.pause(t.ctx, failures, "store the outcome of a job", err):
			return false
		}
	}
}
