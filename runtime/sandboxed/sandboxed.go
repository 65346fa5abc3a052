// Package sandboxed is a [runtime.Runtime] whose actions run in a sandbox with
// an Action Execution Server in it. The sandbox starts in the background, so
// that the first LLM call does not wait for it, and starts again if it dies.
//
// # Usage
//
//	rt := sandboxed.Start(ctx, sandboxed.Options{Provider: provider, Spec: spec, Connect: connect})
//	obs, err := rt.Execute(ctx, req)
//	…
//	err = rt.Stop(ctx) // ends the sandbox; Close only disconnects from it
//
// # Concurrency
//
// A Runtime is safe for concurrent use.
//
// # Failure
//
// When the server has ended, Execute starts a new server on the same journal and
// asks for the action again, with Again set unless the request was certainly
// never sent. The new server answers with the recorded result, or with
// fault.Interrupted if the action had begun: a [runtime.EndedError] if it is known that
// the sandbox has ended, and why. After five servers in a row that
// have ended the last error is returned.
//
// If the sandbox cannot be started, [Runtime.Ready] returns the provider's
// error. Execute and Prepare return it as fault.Unavailable with the same
// message and hint, so that it is never taken for the failure of a tool. The
// next call after that tries to start the sandbox again.
package sandboxed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/tool"
)

// Options configure a Runtime. All but Shutdown, OnStart and OnEnd are required.
type Options struct {
	// Provider starts the sandbox that Spec describes.
	Provider sandbox.Provider
	Spec     sandbox.Spec
	// Connect returns the runtime that talks to a sandbox's server.
	Connect func(sandbox.Sandbox) (runtime.Runtime, error)
	// Shutdown is how long the server may take to end its tools in order, with their
	// close hooks, when the sandbox is stopped; 0 kills all at once, which is enough
	// for tools that leave nothing behind.
	Shutdown time.Duration
	// OnStart is called with each sandbox that was started or found.
	OnStart func(sandbox.Sandbox)
	// OnEnd is called with each of them that has ended, unless Close, Pause or Stop came
	// first. It may be called while another one starts.
	OnEnd func(sandbox.Sandbox)
}

// Runtime is a sandbox and the connection to its server. Make one with [Start].
type Runtime struct {
	opts Options

	mu      sync.Mutex
	current *attempt
	ended   bool
	over    chan struct{} // closed when ended is set
}

var (
	_ runtime.Runtime      = (*Runtime)(nil)
	_ runtime.Acknowledger = (*Runtime)(nil)
	_ runtime.Preparer     = (*Runtime)(nil)
	_ runtime.Offering     = (*Runtime)(nil)
	_ tool.Starter         = (*Runtime)(nil)
	_ tool.PTYs            = (*Runtime)(nil)
)

// Start begins to start the sandbox and returns at once. The provider gets the
// values of ctx, but not its cancellation.
func Start(ctx context.Context, o Options) *Runtime {
	r := &Runtime{opts: o, over: make(chan struct{})}
	r.launch(ctx, &attempt{})
	return r
}

// Ready waits until the sandbox runs, and returns it. The error is the
// provider's own.
func (r *Runtime) Ready(ctx context.Context) (sandbox.Sandbox, error) {
	a, err := r.running(ctx)
	if err != nil {
		return nil, err
	}
	return a.sandbox, nil
}

// Execute implements [runtime.Runtime].
func (r *Runtime) Execute(ctx context.Context, q tool.Request) (obs event.Observation, err error) {
	a, err := r.tryAny(ctx, func(rt runtime.Runtime) (err error) {
		obs, err = rt.Execute(ctx, q)
		if err != nil && !errors.Is(err, runtime.ErrNotSent) {
			q.Again = true
		}
		return err
	})
	if fault.Is(err, fault.Interrupted) && a.after != "" {
		err = &runtime.EndedError{Reason: a.after, Err: err}
	}
	return obs, err
}

// Prepare implements [runtime.Preparer].
func (r *Runtime) Prepare(ctx context.Context) error {
	return r.try(ctx, func(rt runtime.Runtime) error {
		if p, ok := rt.(runtime.Preparer); ok {
			return p.Prepare(ctx)
		}
		return nil
	})
}

// Linger implements [runtime.Lingering].
func (r *Runtime) Linger(ctx context.Context, d time.Duration) error {
	return r.try(ctx, func(rt runtime.Runtime) error {
		l, ok := rt.(runtime.Lingering)
		if !ok {
			return fault.New(fault.Unsupported, "the sandbox cannot be kept")
		}
		return l.Linger(ctx, d)
	})
}

// StartProgram implements [tool.Starter]: the program runs in the sandbox, and ends
// with it.
func (r *Runtime) StartProgram(ctx context.Context, p tool.Program) (proc tool.Process, err error) {
	err = r.try(ctx, func(rt runtime.Runtime) (err error) {
		s, ok := rt.(tool.Starter)
		if !ok {
			return fault.New(fault.Unsupported, "this runtime starts no programs")
		}
		proc, err = s.StartProgram(ctx, p)
		return err
	})
	return proc, err
}

// Tools implements [runtime.Offering].
func (r *Runtime) Tools(ctx context.Context) (tools []tool.External, err error) {
	err = r.try(ctx, func(rt runtime.Runtime) (err error) {
		if o, ok := rt.(runtime.Offering); ok {
			tools, err = o.Tools(ctx)
		}
		return err
	})
	return tools, err
}

// maxServers is how many servers in a row one request may find ended before
// its error is final.
const maxServers = 5

// try calls ask with the server, and with a new one each time that it has ended.
func (r *Runtime) try(ctx context.Context, ask func(runtime.Runtime) error) error {
	_, err := r.tryAny(ctx, ask)
	return err
}

// tryAny is try. It returns the last attempt, nil if there is no sandbox.
func (r *Runtime) tryAny(ctx context.Context, ask func(runtime.Runtime) error) (*attempt, error) {
	a, err := r.running(ctx)
	for n := 1; ; n++ {
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		err = ask(a.rt)
		if !fault.Is(err, fault.Unavailable) || ctx.Err() != nil || n == maxServers {
			return a, err
		}
		a, err = r.restart(ctx, a)
	}
}

// unavailable gives the error of a failed start the kind that an action needs:
// no tool has failed, there is no sandbox to run it in.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, "no sandbox to work in")
}

// Interrupt implements [runtime.Runtime]. If the sandbox could not be started,
// nothing runs and there is nothing to interrupt.
func (r *Runtime) Interrupt(ctx context.Context, id event.ID) error {
	a := r.latest()
	switch err := a.wait(ctx); {
	case ctx.Err() != nil:
		return err
	case err != nil:
		return nil
	}
	return a.rt.Interrupt(ctx, id)
}

// Ack implements [runtime.Acknowledger]. An acknowledgement while a server starts
// is dropped: the result stays in its journal until the conversation ends.
func (r *Runtime) Ack(ids ...event.ID) {
	a := r.latest()
	select {
	case <-a.done:
		if k, ok := a.rt.(runtime.Acknowledger); ok {
			k.Ack(ids...)
		}
	default:
	}
}

// Close implements [runtime.Runtime]: it disconnects from the sandbox, which
// lives on for its grace time. A start that is under way is canceled.
func (r *Runtime) Close() error { return r.end().release() }

// Stop ends the sandbox and all that runs in it. It may follow Close, and may
// be repeated if it failed.
func (r *Runtime) Stop(ctx context.Context) error {
	a := r.end()
	if r.opts.Shutdown > 0 && a.err == nil {
		a.shutDown(ctx, r.opts.Shutdown)
	}
	err := a.release()
	if a.sandbox == nil {
		return err
	}
	return errors.Join(err, a.sandbox.Stop(ctx))
}

// end prevents further starts, and waits for one that is under way.
func (r *Runtime) end() *attempt {
	r.mu.Lock()
	if !r.ended {
		close(r.over)
	}
	r.ended = true
	a := r.current
	r.mu.Unlock()
	a.cancel()
	<-a.done
	return a
}

// watch calls OnEnd when a sandbox ends by itself.
func (r *Runtime) watch(sb sandbox.Sandbox) {
	select {
	case <-r.over:
	case <-sb.Done():
		select {
		case <-r.over: // it was stopped
		default:
			r.opts.OnEnd(sb)
		}
	}
}

func (r *Runtime) latest() *attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}
