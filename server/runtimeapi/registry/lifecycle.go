package registry

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// Get returns a runtime of an owner by its id.
func (r *Registry) Get(owner, id string) (Runtime, error) {
	e, err := r.entry(owner, id)
	if err != nil {
		return Runtime{}, err
	}
	return e.snapshot(), nil
}

// Session returns the runtime of an owner's session.
func (r *Registry) Session(owner, id string) (Runtime, error) {
	r.mu.Lock()
	e := r.sessions[session{owner, id}]
	r.mu.Unlock()
	if e == nil {
		return Runtime{}, fault.New(fault.NotFound, "there is no runtime of the session "+shorten(id))
	}
	return e.snapshot(), nil
}

// List returns the runtimes of an owner, oldest first.
func (r *Registry) List(owner string) []Runtime {
	r.mu.Lock()
	all := []Runtime{}
	for _, e := range r.runtimes {
		if rt := e.snapshot(); rt.Owner == owner {
			all = append(all, rt)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b Runtime) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

func (r *Registry) entry(owner, id string) (*entry, error) {
	r.mu.Lock()
	e := r.runtimes[id]
	r.mu.Unlock()
	if e == nil || e.snapshot().Owner != owner {
		return nil, fault.New(fault.NotFound, "there is no runtime "+shorten(id))
	}
	return e, nil
}

// change runs a change of a runtime in its turn. It is finished even if the client gives
// up.
func (r *Registry) change(ctx context.Context, owner, id string, do func(context.Context, *entry) error) (Runtime, error) {
	e, err := r.entry(owner, id)
	if err != nil {
		return Runtime{}, err
	}
	wait, cancelWait := context.WithTimeout(ctx, startWait)
	taken := e.take(wait)
	cancelWait()
	switch {
	case !taken && ctx.Err() != nil:
		return Runtime{}, fault.Wrap(context.Cause(ctx), fault.Canceled, "wait for the runtime")
	case !taken:
		return Runtime{}, fault.New(fault.Conflict, "the runtime "+id+" is "+string(e.snapshot().State)).Hint("ask again later, or stop it")
	}
	defer e.release()
	e.mu.Lock()
	gone := e.gone
	e.mu.Unlock()
	if gone {
		return e.snapshot(), fault.New(fault.NotFound, "there is no runtime "+shorten(id))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err = do(ctx, e)
	return e.snapshot(), err
}

// Pause suspends a runtime: it keeps its memory, and answers with fault.Unavailable.
func (r *Registry) Pause(ctx context.Context, owner, id string) (Runtime, error) {
	return r.change(ctx, owner, id, r.pause)
}

func (r *Registry) pause(ctx context.Context, e *entry) error {
	s, err := r.running(ctx, e)
	if err != nil {
		return err
	}
	if e.snapshot().State == Paused {
		return nil
	}
	if err := s.Pause(ctx); err != nil {
		return err
	}
	return r.update(ctx, e, func(rt *Runtime) error { rt.State = Paused; return nil })
}

// Resume lets a paused runtime go on.
func (r *Registry) Resume(ctx context.Context, owner, id string) (Runtime, error) {
	return r.change(ctx, owner, id, r.resume)
}

func (r *Registry) resume(ctx context.Context, e *entry) error {
	s, err := r.running(ctx, e)
	if err != nil {
		return err
	}
	if err := s.Resume(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	e.used = time.Now()
	e.mu.Unlock()
	return r.update(ctx, e, func(rt *Runtime) error { rt.State = Running; return nil })
}

// running returns the sandbox of an entry that runs or is paused.
func (r *Registry) running(ctx context.Context, e *entry) (sandbox.Sandbox, error) {
	e.mu.Lock()
	s, rt := e.sandbox, e.rt
	e.mu.Unlock()
	if s == nil {
		return nil, fault.New(fault.Conflict, "the runtime "+rt.ID+" is "+string(rt.State)).Hint("start its session again")
	}
	st, err := s.Status(ctx)
	if err == nil && st.State == sandbox.Ended {
		err = fault.New(fault.Conflict, "the runtime "+rt.ID+" has ended").Hint("start its session again")
	}
	return s, err
}

// Stop ends a runtime, and removes it with its files. Its session may start another one.
// A start that is under way is given up.
func (r *Registry) Stop(ctx context.Context, owner, id string) (Runtime, error) {
	e, err := r.entry(owner, id)
	if err != nil {
		return Runtime{}, err
	}
	e.mu.Lock()
	cancel := e.cancel
	e.mu.Unlock()
	if cancel == nil {
		return r.change(ctx, owner, id, r.forget)
	}
	cancel()
	rt, err := r.change(ctx, owner, id, r.forget)
	if fault.Is(err, fault.NotFound) { // leftovers of the start are removed already
		return e.snapshot(), nil
	}
	return rt, err
}

// forget removes all of a runtime. If that fails its record stays, so that it is tried
// again.
func (r *Registry) forget(ctx context.Context, e *entry) error {
	rt := e.snapshot()
	r.o.Addresses.Close(rt.ID)
	if err := r.remove(ctx, rt.ID); err != nil {
		return err
	}
	if err := r.o.Store.Delete(ctx, rt.ID); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.runtimes, rt.ID)
	delete(r.sessions, session{rt.Owner, rt.SessionID})
	r.mu.Unlock()
	e.mu.Lock()
	e.gone, e.sandbox, e.rt.State = true, nil, Stopped
	e.mu.Unlock()
	return nil
}

// Connection is the view that a client of a runtime's server has of it.
type Connection struct {
	Runtime Runtime
	// Dial connects to the server.
	Dial func(ctx context.Context) (net.Conn, error)
	// Release ends the use of the runtime, which is idle if nobody uses it.
	Release func()
}

// Connect prepares a request to a runtime's server, whoever sends it: the server checks the
// session key, or the caller if Runtime.Given is set. Errors: NotFound, Unavailable if it does not run.
func (r *Registry) Connect(id string) (Connection, error) {
	r.mu.Lock()
	e := r.runtimes[id]
	r.mu.Unlock()
	if e == nil {
		return Connection{}, fault.New(fault.NotFound, "there is no runtime "+shorten(id))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rt.State != Running || e.sandbox == nil {
		return Connection{}, fault.New(fault.Unavailable, "the runtime "+id+" is "+string(e.rt.State)).Hint("resume it, or start its session again")
	}
	e.clients++
	e.used = time.Now()
	return Connection{Runtime: e.rt, Dial: e.sandbox.Dial, Release: func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.clients--
		e.used = time.Now()
	}}, nil
}
