// Package runtime defines where actions run, seen from the controller: hand
// in an Action, get its Observation. runtime/local runs them in this process,
// runtime/remote asks an Action Execution Server over a socket.
//
// # Concurrency
//
// A Runtime is safe for concurrent use; the caller decides which actions may
// run side by side.
//
// # Failure
//
// A lost connection does not stop the action: asking again with the same id
// joins it or returns its recorded result. An error of kind
// fault.Interrupted says that the action began and its effect is unknown;
// it is never run again by itself.
package runtime

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// Runtime executes actions.
type Runtime interface {
	// Execute runs an action at most once for each id and returns its
	// observation: asked again with the same id, it joins the action that
	// still runs, or returns the recorded observation. When ctx ends Execute
	// returns at once and the action goes on.
	Execute(ctx context.Context, r tool.Request) (event.Observation, error)
	// Interrupt stops a running action; its Execute then returns what there
	// is. Interrupting an action that does not run does nothing.
	Interrupt(ctx context.Context, id event.ID) error
	// Close ends the runtime's side of the connection; what runs goes on
	// unless the runtime owns it.
	Close() error
}

// Acknowledger is implemented by runtimes that keep results until they are
// stored elsewhere; all of this module are.
type Acknowledger interface {
	// Ack says that the observations of these actions are durable in the
	// event stream, so that the runtime may forget them. It neither blocks nor
	// fails: it may take effect with the next request. An acknowledged id must
	// not be asked for again.
	Ack(ids ...event.ID)
}

// Preparer is implemented by runtimes that must hear that no action is pending
// before the first one becomes durable; runtimes without a memory beyond the
// process need not.
type Preparer interface {
	// Prepare waits until actions can be run. The caller has none pending;
	// from then on the runtime can prove of each that it never began, so that
	// one that became durable and was not asked for before a crash is run
	// afterwards instead of being called interrupted.
	Prepare(ctx context.Context) error
}

// ErrNotSent is in the chain of an error of Execute when the request surely
// did not reach the place where actions run. A caller who asks again then
// leaves Again of [tool.Request] as it was.
var ErrNotSent = errors.New("the action was not sent")
