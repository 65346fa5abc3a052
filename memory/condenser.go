// Package memory decides what of a conversation the model is shown when not
// all of it fits: it condenses, which puts a summary in the place of events.
//
// # Usage
//
//	c := memory.Summarizing{}
//	if c.Needed(s) || s.CondensationRequested {
//		ev, err := c.Condense(ctx, s, model, id) // append ev, take the next step
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
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// Condenser shortens what the model sees.
type Condenser interface {
	// Needed reports whether the view has outgrown the condenser's limit.
	Needed(s *state.State) bool
	// Condense returns the event that shortens the view, or nil if it cannot
	// be shortened.
	Condense(ctx context.Context, s *state.State, m llm.Model, session event.ConversationID) (*event.Condensation, error)
}
