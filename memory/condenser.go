// Package memory keeps the model's view of a conversation small: condensers replace
// events by a summary, leave them out, or show notes in their places.
//
// # Usage
//
//	c, err := memory.New(agent.Condenser) // by its kind; nil for none
//	turn.State.View = c.Show(state.View)  // of a copy: the model's view
//	if c.Needed(turn) || c.Forgets() && turn.State.CondensationRequested {
//		ev, err := c.Condense(ctx, turn) // append ev, take the next step
//	}
//
// # The prompt's start
//
// Providers cache the start of a prompt as long as it stays the same. Condensers
// therefore change it seldom and then by much: those that forget leave room for many
// more events, and those that show notes move their border by half a window. Every
// condenser keeps the system prompt.
//
// # Concurrency
//
// Condensers are safe for concurrent use. A Gauge belongs to one goroutine.
//
// # Failure
//
// Condense returns nil without an error when leaving out events would not help;
// the caller decides about the consequence. If the model fails to write the
// summary, its error (package llm) is returned.
package memory

import (
	"context"
	"slices"

	"github.com/deft-dev/deft/event"
)

// Condenser shortens the model's view. Events themselves never change.
type Condenser interface {
	// Show returns a view as the model is shown it: each event, or another one of the
	// same id in its place. While a view grows, the result mostly grows too.
	Show(view []event.Event) []event.Event
	// Forgets reports whether Condense can leave events out. If not, requests for a
	// condensation are in vain.
	Forgets() bool
	// Needed reports whether the view has outgrown the condenser's limit.
	Needed(t Turn) bool
	// Condense returns the event that shortens the view, or nil if it cannot
	// be shortened.
	Condense(ctx context.Context, t Turn) (*event.Condensation, error)
}

// Pipeline is a sequence of condensers. Each gets the shown view of the one before, and the
// first one that can shorten the view does. An empty one does nothing.
type Pipeline []Condenser

// Show implements [Condenser].
func (p Pipeline) Show(view []event.Event) []event.Event {
	for _, c := range p {
		view = c.Show(view)
	}
	return view
}

// Forgets implements [Condenser].
func (p Pipeline) Forgets() bool { return slices.ContainsFunc(p, Condenser.Forgets) }

// Needed implements [Condenser].
func (p Pipeline) Needed(t Turn) bool {
	return slices.ContainsFunc(p, func(c Condenser) bool { return c.Needed(t) })
}

// Condense implements [Condenser].
func (p Pipeline) Condense(ctx context.Context, t Turn) (*event.Condensation, error) {
	for _, c := range p {
		if !c.Needed(t) && (!t.State.CondensationRequested || !c.Forgets()) {
			continue
		}
		if done, err := c.Condense(ctx, t); done != nil || err != nil {
			return done, err
		}
	}
	return nil, nil
}
