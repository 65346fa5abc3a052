// Package memory shortens the model's view of a conversation that does not fit its
// context window: a condenser replaces events by a summary.
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
// Condense returns nil without an error when leaving out events would not help;
// the caller decides about the consequence. If the model fails to write the
// summary, its error (package llm) is returned.
package memory

import (
	"context"

	"github.com/deft-dev/deft/event"
)

// Condenser shortens the model's view.
type Condenser interface {
	// Needed reports whether the view has outgrown the condenser's limit.
	Needed(t Turn) bool
	// Condense returns the event that shortens the view, or nil if it cannot
	// be shortened.
	Condense(ctx context.Context, t Turn) (*event.Condensation, error)
}

// Pipeline is a sequence of condensers: the first one that can shorten the view
// does.
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
