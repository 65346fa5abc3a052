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
	// decisions are what hooks decided about pending actions; blocked is the last message that
	// a hook blocked.
	decisions []*event.HookExecutionEvent
	blocked   event.ID
}

func (b *branch) add(ev event.Event) {
	switch e := ev.(type) {
	case *event.SystemPromptEvent:
		b.open(e)
	case *event.HookExecutionEvent:
		switch {
		case e.MessageID != "" && e.Blocked:
			b.blocked = e.MessageID
		case e.HookEventType == "PreToolUse":
			b.decisions = append(b.decisions[:len(b.decisions):len(b.decisions)], e)
		}
	case *event.MessageEvent:
		if e.ID == b.blocked {
			return // neither the model nor a condenser is shown it
		}
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
	id := b.pending[i].ID
	b.pending = slices.Concat(b.pending[:i], b.pending[i+1:])
	if len(b.decisions) > 0 {
		b.decisions = slices.DeleteFunc(slices.Clone(b.decisions), func(e *event.HookExecutionEvent) bool { return e.ActionID == id })
	}
}

// open puts a system prompt into the view, in the place of an earlier one.
func (b *branch) open(e *event.SystemPromptEvent) {
	i := slices.IndexFunc(b.view, func(ev event.Event) bool { _, prompt := ev.(*event.SystemPromptEvent); return prompt })
	if i < 0 {
		b.view = append(b.view, e)
		return
	}
	b.view = slices.Clone(b.view) // earlier states have the same array
	b.view[i] = e
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
