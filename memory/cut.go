package memory

import "github.com/deft-dev/deft/event"

// atoms returns the positions at which a view may be cut: never between a
// tool call and its result, nor inside the calls of one response, nor where
// the part behind would begin with a response that has left its thinking to
// an earlier one of the same tool loop, which providers refuse
// (docs/openhands/sdk-features.md section 4).
func atoms(view []event.Event) []int {
	w := walk{open: map[string]bool{}}
	var cuts []int
	for i, ev := range view {
		if w.before(ev) {
			cuts = append(cuts, i)
		}
		w.past(ev)
	}
	if len(w.open) == 0 {
		cuts = append(cuts, len(view))
	}
	return cuts
}

// walk finds the positions at which a view may be cut.
type walk struct {
	open     map[string]bool // tool calls without a result so far
	calling  bool            // the last event but results was a call
	response string          // and this its response
	thinking bool            // the tool loop has thinking blocks
}

// before reports whether the view may be cut before ev.
func (w *walk) before(ev event.Event) bool {
	a, ok := ev.(*event.ActionEvent)
	switch {
	case !ok:
		return len(w.open) == 0
	case w.sameResponse(a):
		return false
	}
	// Calls that are still open when the next response comes stay without a
	// result; they prevent no cut.
	return !w.calling || !w.thinking || len(a.ThinkingBlocks) > 0
}

func (w *walk) sameResponse(a *event.ActionEvent) bool {
	return w.calling && a.LLMResponseID == w.response && (a.LLMResponseID != "" || len(w.open) > 0)
}

func (w *walk) past(ev event.Event) {
	switch e := ev.(type) {
	case *event.ActionEvent:
		if !w.sameResponse(e) {
			clear(w.open)
		}
		w.thinking = len(e.ThinkingBlocks) > 0 || w.thinking && w.calling
		w.calling, w.response = true, e.LLMResponseID
		w.open[e.ToolCallID] = true
	case *event.ObservationEvent:
		delete(w.open, e.ToolCallID)
	case *event.UserRejectObservation:
		delete(w.open, e.ToolCallID)
	case *event.AgentErrorEvent:
		delete(w.open, e.ToolCallID)
	default:
		if len(w.open) == 0 { // a message among calls waits for their results
			w.calling = false
		}
	}
}
