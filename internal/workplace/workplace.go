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
// When the server is gone, the action is asked for once more from a new
// server on the same journal, with Again set: it answers with the recorded
// result, or with fault.Interrupted if the action had begun. If no server can
// be started the error is fault.Unavailable or the provider's own.
package workplace

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/fault"
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
	stopped bool
}

// attempt is one start of the sandbox.
type attempt struct {
	done chan struct{} // closed when the rest is set
	box  sandbox.Sandbox
	rt   runtime.Runtime
	err  error
}

var (
	_ runtime.Runtime      = (*Place)(nil)
	_ runtime.Acknowledger = (*Place)(nil)
)

// Start begins to start the sandbox and returns at once.
func Start(ctx context.Context, o Options) *Place {
	p := &Place{opts: o}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin(ctx)
	return p
}

// begin starts an attempt; the caller holds mu.
func (p *Place) begin(ctx context.Context) *attempt {
	a := &attempt{done: make(chan struct{})}
	p.current = a
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer close(a.done)
		a.box, a.err = p.opts.Provider.Start(ctx, p.opts.Spec)
		if a.err != nil {
			a.err = fmt.Errorf("start sandbox: %w", a.err)
			return
		}
		if p.opts.OnStart != nil {
			p.opts.OnStart(a.box)
		}
		a.rt, a.err = p.opts.Connect(a.box)
	}()
	return a
}

// Ready waits until the sandbox runs, and returns it.
func (p *Place) Ready(ctx context.Context) (sandbox.Sandbox, error) {
	a, err := p.attempt(ctx)
	if err != nil {
		return nil, err
	}
	return a.box, nil
}

func (p *Place) attempt(ctx context.Context) (*attempt, error) {
	p.mu.Lock()
	a := p.current
	p.mu.Unlock()
	select {
	case <-a.done:
		return a, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Execute implements [runtime.Runtime].
func (p *Place) Execute(ctx context.Context, r runtime.Request) (event.Observation, error) {
	a, err := p.attempt(ctx)
	if err != nil {
		return nil, err
	}
	obs, err := a.rt.Execute(ctx, r)
	if !fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
		return obs, err
	}
	a, startErr := p.again(ctx, a)
	if startErr != nil {
		return nil, startErr
	}
	if !errors.Is(err, runtime.ErrNotSent) {
		r.Again = true
	}
	return a.rt.Execute(ctx, r)
}

// again replaces the attempt old, unless somebody has done so already.
func (p *Place) again(ctx context.Context, old *attempt) (*attempt, error) {
	p.mu.Lock()
	if p.stopped {
		p.mu.Unlock()
		return nil, fault.New(fault.Unavailable, "the sandbox was stopped")
	}
	if p.current == old {
		p.begin(ctx)
	}
	p.mu.Unlock()
	return p.attempt(ctx)
}

// Interrupt implements [runtime.Runtime].
func (p *Place) Interrupt(ctx context.Context, id event.ID) error {
	a, err := p.attempt(ctx)
	if err != nil {
		return err
	}
	return a.rt.Interrupt(ctx, id)
}

// Ack implements [runtime.Acknowledger].
func (p *Place) Ack(ids ...event.ID) {
	p.mu.Lock()
	a := p.current
	p.mu.Unlock()
	select {
	case <-a.done:
		if k, ok := a.rt.(runtime.Acknowledger); ok {
			k.Ack(ids...)
		}
	default: // a server that is still starting reads them from its journal
	}
}

// Close implements [runtime.Runtime]: it lets go of the sandbox, which lives
// on for its grace time.
func (p *Place) Close() error { return p.end(nil) }

// Stop ends the sandbox and all that runs in it.
func (p *Place) Stop(ctx context.Context) error {
	return p.end(func(box sandbox.Sandbox) error { return box.Stop(ctx) })
}

func (p *Place) end(stop func(sandbox.Sandbox) error) error {
	p.mu.Lock()
	p.stopped = true
	a := p.current
	p.mu.Unlock()
	<-a.done
	var errs []error
	if a.rt != nil {
		errs = append(errs, a.rt.Close())
	}
	if a.box != nil && stop != nil {
		errs = append(errs, stop(a.box))
	}
	return errors.Join(errs...)
}
