package workplace

import (
	"context"
	"fmt"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/sandbox"
)

// attempt is one start of the sandbox.
type attempt struct {
	cancel context.CancelFunc // gives up the start

	done chan struct{}   // closed when the rest is set
	box  sandbox.Sandbox // if this start gave none, that of the start before
	rt   runtime.Runtime // nil unless err is
	err  error

	told bool // a caller has had err; guarded by Place.mu

	once     sync.Once
	closeErr error
}

// begin starts an attempt that replaces old; the caller holds mu or is alone.
func (p *Place) begin(ctx context.Context, old *attempt) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &attempt{done: make(chan struct{}), cancel: cancel, box: old.box}
	p.current = a
	go func() {
		defer close(a.done)
		defer cancel()
		a.err = a.start(ctx, p.opts)
		// What the old server still has to be told (acknowledgements) reaches
		// the new one. If it cannot be told, the journal keeps more than it
		// needs to, and nothing else is wrong.
		_ = old.release()
	}()
}

func (a *attempt) start(ctx context.Context, o Options) error {
	box, err := o.Provider.Start(ctx, o.Spec)
	if err != nil {
		return fmt.Errorf("start sandbox: %w", err)
	}
	a.box = box
	if o.OnStart != nil {
		o.OnStart(box)
	}
	rt, err := o.Connect(box)
	if err != nil {
		return fmt.Errorf("connect to sandbox: %w", err)
	}
	a.rt = rt
	return nil
}

// wait returns the outcome of the start, or the error of ctx if that ends
// first.
func (a *attempt) wait(ctx context.Context) error {
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release closes the runtime, once.
func (a *attempt) release() error {
	a.once.Do(func() {
		if a.rt != nil {
			a.closeErr = a.rt.Close()
		}
	})
	return a.closeErr
}

var errEnded = fault.New(fault.Unavailable, "the sandbox was stopped")

// running returns the current attempt once it has succeeded. An attempt that
// has failed is replaced if somebody knows of the failure already.
func (p *Place) running(ctx context.Context) (*attempt, error) {
	p.mu.Lock()
	if p.current.told && !p.ended {
		p.begin(ctx, p.current)
	}
	p.mu.Unlock()
	return p.outcome(ctx)
}

// again replaces the attempt old, whose server is gone, unless somebody has
// done so already.
func (p *Place) again(ctx context.Context, old *attempt) (*attempt, error) {
	p.mu.Lock()
	if p.current == old && !p.ended {
		p.begin(ctx, old)
	}
	p.mu.Unlock()
	return p.outcome(ctx)
}

// outcome waits for the current attempt. A Place that has ended gives none.
func (p *Place) outcome(ctx context.Context) (*attempt, error) {
	a := p.latest()
	if err := a.wait(ctx); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ended {
			return nil, errEnded
		}
		if ctx.Err() == nil {
			a.told = true
		}
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, errEnded
	}
	return a, nil
}
