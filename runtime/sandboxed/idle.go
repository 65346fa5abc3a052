package sandboxed

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Pause suspends the sandbox with all that runs in it, and disconnects from it.
// Starting a Runtime with its Spec again resumes it; stop ends it. Both are nil if no
// sandbox runs.
func (r *Runtime) Pause(ctx context.Context) (stop func(context.Context) error, err error) {
	a := r.end()
	if a.err != nil || a.sandbox == nil {
		return nil, a.release()
	}
	// The server is connected while it is suspended, so that its grace time begins
	// when it is resumed and sees that this client has gone.
	switch err = a.sandbox.Pause(ctx); {
	case err == nil:
		stop = a.sandbox.Stop
	case fault.Is(err, fault.NotFound): // it has ended
		err = nil
	}
	return stop, errors.Join(err, a.release())
}

// InUse reports whether a client is connected to one of the sandbox's terminals.
func (r *Runtime) InUse(ctx context.Context) bool {
	a := r.latest()
	select {
	case <-a.done:
	default:
		return true // it starts
	}
	p, ok := a.rt.(tool.PTYs)
	if a.err != nil || !ok {
		return false
	}
	all, err := p.ListPTYs(ctx)
	return err == nil && slices.ContainsFunc(all, func(t tool.PTY) bool { return t.Attached })
}
