// Package memory decides what of a conversation the model is shown when not
// all of it fits: it condenses, which puts a summary in the place of events.
//
// # Usage
//
//	c := memory.Summarizing{}
//	if c.Needed(turn) || turn.State.CondensationRequested {
//		ev, err := c.Condense(ctx, turn) // append ev, take the next step
//	}
//
// # Concurrency
//
// Condensers keep no state of their own and are safe for concurrent use.
//
// # Failure
//
// Condense returns nil without an error when nothing can be forgotten that
// would help; the caller decides what that means. A model that cannot
// summarise gives its error, of package llm.
package memory

import (
	"context"

	"github.com/deft-dev/deft/event"
)

// Condenser shortens what the model sees.
type Condenser interface {
	// Needed reports whether the view has outgrown the condenser's limit.
	Needed(t Turn) bool
	// Condense returns the event that shortens the view, or nil if it cannot
	// be shortened.
	Condense(ctx context.Context, t Turn) (*event.Condensation, error)
}

// Pipeline is condensers in a row: the first that has something to leave out
// does it.
type Pipeline []Condenser

// Needed implements [Condenser].
func (p Pipeline) Needed(t Turn) bool {
	for _, c := range p {
		if c.Needed(t) {
			return true
		}
	}
	return false
}

// Condense implements [Condenser].
func (p Pipeline) Condense(ctx context.Context, t Turn) (*event.Condensation, error) {
	for _, c := range p {
		if !t.State.CondensationRequested && !c.Needed(t) {
			continue
		}
		if done, err := c.Condense(ctx, t); done != nil || err != nil {
			return done, err
		}
	}
	return nil, nil
}
