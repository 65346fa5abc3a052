package sandboxed

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/sandbox"
)

// attempt is one start of the sandbox.
type attempt struct {
	cancel context.CancelFunc // cancels the start
	after  string             // why the sandbox before it has ended; "" if that is not known

	done    chan struct{}   // closed when the rest is set
	sandbox sandbox.Sandbox // if this start gave none, the one of the start before
	rt      runtime.Runtime // nil unless err is
	err     error

	reported bool // a caller has got err; guarded by Runtime.mu

	once     sync.Once
	closeErr error
}

// launch starts an attempt that replaces old; the caller holds mu or is alone.
func (r *Runtime) launch(ctx context.Context, old *attempt) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &attempt{done: make(chan struct{}), cancel: cancel, sandbox: old.sandbox}
	if old.reported { // it gave none
		a.after = old.after
	}
	r.current = a
	go func() {
		defer close(a.done)
		defer cancel()
		a.err = a.start(ctx, r.opts)
		if a.err == nil && r.opts.OnEnd != nil {
			go r.watch(a.sandbox)
		}
		// Acknowledgements that the old connection still holds reach the new
		// server. If that fails, the journal keeps more than it needs to, and
		// nothing else is wrong.
		_ = old.release()
	}()
}

func (a *attempt) start(ctx context.Context, o Options) error {
	sb, err := o.Provider.Start(ctx, o.Spec)
	if err != nil {
		return fmt.Errorf("start sandbox: %w", err)
	}
	a.sandbox = sb
	if o.OnStart != nil {
		o.OnStart(sb)
	}
	rt, err := o.Connect(sb)
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

// shutDown asks the server to end and waits for that. If it does not, the sandbox is
// killed all the same.
func (a *attempt) shutDown(ctx context.Context, limit time.Duration) {
	s, ok := a.rt.(interface {
		Shutdown(ctx context.Context) error
	})
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		return // it has ended, or its connection is closed
	}
	select {
	case <-a.sandbox.Done():
	case <-ctx.Done():
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

// running returns the current attempt once it has succeeded. A failed attempt
// is replaced if its error was reported already.
func (r *Runtime) running(ctx context.Context) (*attempt, error) {
	r.mu.Lock()
	if r.current.reported && !r.ended {
		r.launch(ctx, r.current)
	}
	r.mu.Unlock()
	return r.outcome(ctx)
}

// restart replaces the attempt old, whose server has ended, unless another
// caller has done so already.
func (r *Runtime) restart(ctx context.Context, old *attempt) (*attempt, error) {
	why := old.whyEnded(ctx)
	r.mu.Lock()
	if r.current == old && !r.ended {
		r.launch(ctx, old)
		r.current.after = why
	}
	r.mu.Unlock()
	return r.outcome(ctx)
}

// endKnown is how long after the loss of its connection a sandbox may take to say that
// it has ended. Of one that goes on only the server has ended, or the connection.
const endKnown = 2 * time.Second

// whyEnded says why the sandbox has ended, or "".
func (a *attempt) whyEnded(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, endKnown)
	defer cancel()
	select {
	case <-a.sandbox.Done():
	case <-ctx.Done():
		return ""
	}
	s, err := a.sandbox.Status(ctx)
	if err != nil || s.State != sandbox.Ended {
		return ""
	}
	if s.Reason.Message == "" && s.Reason.Cause == sandbox.CauseExited {
		return fmt.Sprintf("its program ended with exit code %d", s.Reason.ExitCode)
	}
	return cmp.Or(s.Reason.Message, string(s.Reason.Cause))
}

// outcome waits for the current attempt, and fails once the Runtime has ended.
func (r *Runtime) outcome(ctx context.Context) (*attempt, error) {
	a := r.latest()
	if err := a.wait(ctx); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ended {
			return nil, errEnded
		}
		if ctx.Err() == nil {
			a.reported = true
		}
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, errEnded
	}
	return a, nil
}
