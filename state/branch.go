package state

import (
	"slices"

	"github.com/deft-dev/deft/event"
)

// branch folds the events of one path. Its slices are shared with snapshots:
// they only ever grow at the end, and anything else makes new ones.
type branch struct {
	view     []event.Event
	pending  []*event.ActionEvent
	tasks    []event.TaskItem
	lastUser event.ID
	condense bool
	analysis *event.SecurityAnalysisEvent
}

func (b *branch) add(ev event.Event) {
	switch e := ev.(type) {
	case *event.SystemPromptEvent:
		b.view = append(b.view, e)
	case *event.MessageEvent:
		b.view = append(b.view, e)
		if e.Source == event.SourceUser {
			b.lastUser = e.ID
		}
	case *event.ActionEvent:
		b.view = append(b.view, e)
		b.pending = append(b.pending[:len(b.pending):len(b.pending)], e)
	case *event.ObservationEvent:
		b.view = append(b.view, e)
		b.settle(e.ActionID, "")
		if o, ok := e.Observation.(*event.TaskTrackerObservation); ok && !o.IsError {
			b.tasks = o.TaskList
		}
	case *event.UserRejectObservation:
		b.view = append(b.view, e)
		b.settle(e.ActionID, "")
	case *event.AgentErrorEvent:
		b.view = append(b.view, e)
		b.settle("", e.ToolCallID)
	case *event.SecurityAnalysisEvent:
		b.analysis = e
	case *event.CondensationRequest:
		b.condense = true
	case *event.Condensation:
		b.condense = false
		b.view = condensed(b.view, e)
	}
}

// settle removes the answered action from pending.
func (b *branch) settle(action event.ID, call string) {
	i := slices.IndexFunc(b.pending, func(a *event.ActionEvent) bool {
		return a.ID == action || call != "" && a.ToolCallID == call
	})
	if i < 0 {
		return
	}
	b.pending = slices.Concat(b.pending[:i], b.pending[i+1:])
}

// condensed returns the view without the events that c forgets and with its summary.
// The system prompt is never forgotten (docs/openhands/sdk-features-1.58.md section 4).
func condensed(view []event.Event, c *event.Condensation) []event.Event {
	forgotten := make(map[event.ID]bool, len(c.ForgottenEventIDs))
	for _, id := range c.ForgottenEventIDs {
		forgotten[id] = true
	}
	out := make([]event.Event, 0, len(view)+1)
	for _, ev := range view {
		if _, prompt := ev.(*event.SystemPromptEvent); prompt || !forgotten[ev.Meta().ID] {
			out = append(out, ev)
		}
	}
	if c.Summary == nil || c.SummaryOffset == nil {
		return out
	}
	at := min(max(*c.SummaryOffset, 0), len(out))
	sum := &event.CondensationSummaryEvent{Base: c.Base, Summary: *c.Summary}
	sum.ID += "-summary"
	return slices.Insert(out, at, event.Event(sum))
}
