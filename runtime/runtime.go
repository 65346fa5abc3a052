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

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// Request asks for one action.
type Request struct {
	ID     event.ID // of the ActionEvent; the key of exactly-once
	Action event.Action
	// Again says that the action may have been asked for before, by a
	// controller that died. If nobody can prove that it never began, the
	// answer is fault.Interrupted instead of a second run.
	Again bool
	// Progress takes output as it appears; nil for none.
	Progress func(tool.Chunk)
}

// Runtime executes actions.
type Runtime interface {
	// Execute runs an action at most once for each id and returns its
	// observation: asked again with the same id, it joins the action that
	// still runs, or returns the recorded observation. When ctx ends Execute
	// returns at once and the action goes on.
	Execute(ctx context.Context, r Request) (event.Observation, error)
	// Interrupt stops a running action; its Execute then returns what there
	// is. Interrupting an action that does not run does nothing.
	Interrupt(ctx context.Context, id event.ID) error
	// Close ends the runtime's side of the connection; what runs goes on
	// unless the runtime owns it.
	Close() error
}
