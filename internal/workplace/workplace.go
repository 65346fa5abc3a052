// Package workplace is a conversation's place to work: a sandbox with an
// Action Execution Server in it, seen as one Runtime. The sandbox starts in
// the background, so that the first LLM call does not wait for it, and is
// started again if it dies.
//
// # Usage
//
//	p := workplace.Start(ctx, workplace.Options{Provider: prov, Spec: spec, Connect: connect})
//	obs, err := p.Execute(ctx, req)
//	…
//	err = p.Stop(ctx)   // ends the sandbox; Close only lets go of it
//
// # Concurrency
//
// A Place is safe for concurrent use.
//
// # Failure
//
// When the server is gone, the action is asked for again from a new server on
// the same journal, with Again set unless no request surely has left: it
// answers with the recorded result, or with fault.Interrupted if the action
// had begun. After several servers that are gone at once the error of the last
// is final.
//
// If no sandbox can be started, [Place.Ready] returns the provider's error,
// and the methods of the Runtime return it as fault.Unavailable, with its
// message and its next step, so that it is never taken for the failure of a
// tool. The call after the one that was told so tries to start again.
package workplace

import (
	"context"
	"errors"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/sandbox"
)

// Options say what a Place is made of. All are required but OnStart.
type Options struct {
	Provider sandbox.Provider
	Spec     sandbox.Spec
	// Connect makes the runtime that talks to a sandbox's server.
	Connect func(sandbox.Sandbox) (runtime.Runtime, error)
	// OnStart is told about each sandbox that was started or found.
	OnStart func(sandbox.Sandbox)
}

// Place is a sandbox and the runtime in it.
type Place struct {
	opts Options

	mu      sync.Mutex
	current *attempt
	ended   bool
}

var (
	_ runtime.Runtime      = (*Place)(nil)
	_ runtime.Acknowledger = (*Place)(nil)
	_ runtime.Preparer     = (*Place)(nil)
)

// Start begins to start the sandbox and returns at once. The provider sees
// the values of ctx, but not its end.
func Start(ctx context.Context, o Options) *Place {
	p := &Place{opts: o}
	p.begin(ctx, &attempt{})
	return p
}

// Ready waits until the sandbox runs, and returns it. The error is the
// provider's own.
func (p *Place) Ready(ctx context.Context) (sandbox.Sandbox, error) {
	a, err := p.running(ctx)
	if err != nil {
		return nil, err
	}
	return a.box, nil
}

// Execute implements [runtime.Runtime].
func (p *Place) Execute(ctx context.Context, r runtime.Request) (obs event.Observation, err error) {
	err = p.try(ctx, func(rt runtime.Runtime) (err error) {
		obs, err = rt.Execute(ctx, r)
		if err != nil && !errors.Is(err, runtime.ErrNotSent) {
			r.Again = true
		}
		return err
	})
	return obs, err
}

// Prepare implements [runtime.Preparer].
func (p *Place) Prepare(ctx context.Context) error {
	return p.try(ctx, func(rt runtime.Runtime) error {
		if k, ok := rt.(runtime.Preparer); ok {
			return k.Prepare(ctx)
		}
		return nil
	})
}

// maxServers is how many servers in a row one request may find gone before
// its error is final.
const maxServers = 5

// try asks the server, and a new one each time that it is gone.
func (p *Place) try(ctx context.Context, ask func(runtime.Runtime) error) error {
	a, err := p.running(ctx)
	for n := 1; ; n++ {
		if err != nil {
			return unavailable(ctx, err)
		}
		err = ask(a.rt)
		if !fault.Is(err, fault.Unavailable) || ctx.Err() != nil || n == maxServers {
			return err
		}
		a, err = p.again(ctx, a)
	}
}

// unavailable makes a failed start what it is to an action: no tool has
// failed, there is no place to run it in.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, "no sandbox to work in")
}

// Interrupt implements [runtime.Runtime]. Where no sandbox could be started
// nothing runs, and there is nothing to interrupt.
func (p *Place) Interrupt(ctx context.Context, id event.ID) error {
	a := p.latest()
	switch err := a.wait(ctx); {
	case ctx.Err() != nil:
		return err
	case err != nil:
		return nil
	}
	return a.rt.Interrupt(ctx, id)
}

// Ack implements [runtime.Acknowledger]. What is acknowledged while a server
// starts stays in its journal until the conversation ends.
func (p *Place) Ack(ids ...event.ID) {
	a := p.latest()
	select {
	case <-a.done:
		if k, ok := a.rt.(runtime.Acknowledger); ok {
			k.Ack(ids...)
		}
	default:
	}
}

// Close implements [runtime.Runtime]: it lets go of the sandbox, which lives
// on for its grace time. A start that is under way is given up.
func (p *Place) Close() error { return p.end().release() }

// Stop ends the sandbox and all that runs in it. It may follow Close, and may
// be repeated if it failed.
func (p *Place) Stop(ctx context.Context) error {
	a := p.end()
	err := a.release()
	if a.box == nil {
		return err
	}
	return errors.Join(err, a.box.Stop(ctx))
}

// end lets nothing start any more, and waits for a start that is under way.
func (p *Place) end() *attempt {
	p.mu.Lock()
	p.ended = true
	a := p.current
	p.mu.Unlock()
	a.cancel()
	<-a.done
	return a
}

func (p *Place) latest() *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}
