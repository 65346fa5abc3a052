// Package memory decides what of a conversation the model is shown when not
// all of it fits. For now that is condensation; skills come later.
//
// # Concurrency
//
// Condensers keep no state of their own and are safe for concurrent use.
//
// # Failure
//
// Condense returns nil without an error when nothing can be forgotten that
// would help; the caller decides what that means.
package memory

import (
	"context"
	"slices"

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

// atoms returns the positions at which a view may be cut: never between a
// tool call and its result, nor inside the calls of one response, nor inside
// a tool loop that carries thinking blocks (sdk-features.md section 4).
func atoms(view []event.Event) []int {
	open := map[string]bool{} // tool calls without a result so far
	var cuts []int
	for i, ev := range view {
		if len(open) == 0 && !sameResponse(view, i) {
			cuts = append(cuts, i)
		}
		switch e := ev.(type) {
		case *event.ActionEvent:
			open[e.ToolCallID] = true
		case *event.ObservationEvent:
			delete(open, e.ToolCallID)
		case *event.UserRejectObservation:
			delete(open, e.ToolCallID)
		case *event.AgentErrorEvent:
			delete(open, e.ToolCallID)
		}
	}
	if len(open) == 0 {
		cuts = append(cuts, len(view))
	}
	return cuts
}

// sameResponse reports whether view[i] is a further action of the response
// that an earlier action of the view belongs to.
func sameResponse(view []event.Event, i int) bool {
	a, ok := view[i].(*event.ActionEvent)
	if !ok || a.LLMResponseID == "" {
		return false
	}
	for _, ev := range slices.Backward(view[:i]) {
		switch e := ev.(type) {
		case *event.ActionEvent:
			return e.LLMResponseID == a.LLMResponseID
		case *event.MessageEvent:
			return false
		}
	}
	return false
}
