// Package runtime defines where actions run, as the controller sees it: it
// passes in an Action and gets its Observation. runtime/local runs actions in
// this process, runtime/remote in an Action Execution Server that it reaches
// over a socket, and runtime/sandboxed starts such a server in a sandbox.
//
// # Concurrency
//
// A Runtime is safe for concurrent use; the caller decides which actions may
// run concurrently.
//
// # Failure
//
// A lost connection does not stop the action: asking again with the same id
// joins it or returns its recorded result. An error of kind fault.Interrupted
// means that the action began and its effect is unknown; it never runs again
// by itself.
package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// EndedError is an error of kind fault.Interrupted of an action whose sandbox has ended
// meanwhile. There is a fresh one.
type EndedError struct {
	Reason string // for the user
	Err    error
}

func (e *EndedError) Error() string { return "the sandbox ended (" + e.Reason + "): " + e.Err.Error() }

func (e *EndedError) Unwrap() error { return e.Err }

// Runtime executes actions.
type Runtime interface {
	// Execute runs an action at most once for each id and returns its
	// observation: asked again with the same id, it joins the running action
	// or returns the recorded observation. When ctx ends, Execute returns at
	// once and the action goes on.
	Execute(ctx context.Context, r tool.Request) (event.Observation, error)
	// Interrupt stops a running action; its Execute then returns the result so
	// far. Interrupting an action that does not run does nothing.
	Interrupt(ctx context.Context, id event.ID) error
	// Close ends the runtime's side of the connection. Running actions go on,
	// unless they run in this process.
	Close() error
}

// Acknowledger is implemented by runtimes that keep results until they are
// stored elsewhere; all of this module are.
type Acknowledger interface {
	// Ack says that the observations of these actions are durable in the
	// event stream, so that the runtime may drop them. It neither blocks nor
	// fails: it may take effect with the next request. An acknowledged id must
	// not be asked for again.
	Ack(ids ...event.ID)
}

// Preparer is implemented by runtimes that keep results beyond the process. They
// must be told that no action is pending before the first one becomes durable.
type Preparer interface {
	// Prepare waits until actions can run. The caller has none pending. From
	// then on the runtime can prove which actions never began: an action that
	// became durable before a crash, and was not asked for, runs afterwards
	// instead of being reported as interrupted.
	Prepare(ctx context.Context) error
}

// Lingering is implemented by runtimes whose processes can outlive the caller.
type Lingering interface {
	// Linger sets how long they live once no caller is left, until the next Prepare.
	Linger(ctx context.Context, d time.Duration) error
}

// Offering is implemented by runtimes whose executors may bring tools of their own.
type Offering interface {
	// Tools waits until actions can run and returns the tools.
	Tools(ctx context.Context) ([]tool.External, error)
}

// ErrNotSent is in the chain of an error of Execute if the request certainly did
// not reach the process that runs actions. A caller that asks
// again then leaves Again of [tool.Request] as it was.
var ErrNotSent = errors.New("the action was not sent")
