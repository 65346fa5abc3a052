package v0event

import (
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/state"
)

// Lookup returns a stored event by its id.
type Lookup func(id event.ID) (eventstream.Record, error)

// Translator translates the records of one conversation, in their order. Its zero
// value is ready for use.
type Translator struct {
	// Find returns events from before the first record, for the cause of
	// observations and the ids of condensed events. Without it those stay unknown.
	Find Lookup

	held    []held // the agent's events of the newest append
	actions map[event.ID]known
	reason  string // of the error that the next status tells
}

type held struct {
	ev         *Event
	action     *event.ActionEvent // nil for a message
	responseID string
}

// known is an action that has no observation yet.
type known struct {
	id int64
	ev *event.ActionEvent
}

// maxKnown is how many actions are remembered; others are found by Find.
const maxKnown = 256

// Holds reports whether events are held back.
func (t *Translator) Holds() bool { return len(t.held) > 0 }

// Add translates the next record. It returns the events that can be sent now, in
// order.
func (t *Translator) Add(rec eventstream.Record) []*Event {
	stored, err := rec.Event()
	if err != nil {
		return t.Flush() // the reference skips it as well
	}
	switch ev := stored.(type) {
	case *event.ActionEvent:
		t.hold(rec, actionOf(ev), ev, ev.LLMResponseID)
		return nil
	case *event.MessageEvent:
		out := messageOf(ev)
		if out.Source == sourceAgent {
			t.hold(rec, out, nil, ev.LLMResponseID)
			return nil
		}
		return append(t.Flush(), place(rec, ev.Source, out, recallOf(ev))...)
	case *event.SecurityAnalysisEvent:
		return nil
	case *event.ConversationStateUpdateEvent:
		return t.update(rec, ev)
	}
	return append(t.Flush(), place(rec, stored.Meta().Source, t.translate(stored))...)
}

// Flush returns the events that are held back, when nothing follows them.
func (t *Translator) Flush() []*Event { return t.release(confirmed) }

// update translates a change of the state, which may complete the events that are
// held back.
func (t *Translator) update(rec eventstream.Record, up *event.ConversationStateUpdateEvent) []*Event {
	switch up.Key {
	case state.KeyStats:
		if m := metricsOf(up); m != nil && len(t.held) > 0 {
			t.held[0].ev.LLMMetrics = m
		}
		return nil
	case state.KeyStatus:
		var status state.Status
		if json.Unmarshal(up.Value, &status) != nil {
			return t.Flush()
		}
		was := confirmed
		if status == state.Confirming {
			was = awaiting
		}
		changed := stateChanged(status)
		if status == state.Errored || status == state.Stuck {
			changed.Extras["reason"], t.reason = t.reason, ""
		}
		return append(t.release(was), place(rec, event.SourceEnvironment, changed)...)
	}
	return nil
}

func (t *Translator) hold(rec eventstream.Record, out *Event, act *event.ActionEvent, responseID string) {
	place(rec, event.SourceAgent, out)
	t.held = append(t.held, held{out, act, responseID})
	if act != nil {
		t.remember(act, out.ID)
	}
}

func (t *Translator) remember(act *event.ActionEvent, id int64) {
	if t.actions == nil || len(t.actions) >= maxKnown {
		t.actions = map[event.ID]known{}
	}
	t.actions[act.ID] = known{id, act}
}

// release returns the events that were held back. state is the state of the
// actions.
func (t *Translator) release(state string) []*Event {
	if len(t.held) == 0 {
		return nil
	}
	out := make([]*Event, 0, len(t.held))
	for _, h := range t.held {
		if h.action != nil {
			calls := 0
			for _, other := range t.held {
				if other.action != nil && other.responseID == h.responseID {
					calls++
				}
			}
			h.ev.ToolCallMetadata = &ToolCallMetadata{
				FunctionName: h.action.ToolName, ToolCallID: h.action.ToolCallID,
				Response: map[string]any{"id": h.responseID}, TotalCalls: calls,
			}
			if _, has := h.ev.Args["confirmation_state"]; has {
				h.ev.Args["confirmation_state"] = state
			}
		}
		out = append(out, h.ev)
	}
	t.held = nil
	return out
}

// cause returns an action that is answered now.
func (t *Translator) cause(id event.ID) (known, bool) {
	if k, ok := t.actions[id]; ok {
		delete(t.actions, id)
		return k, true
	}
	if t.Find == nil || id == "" {
		return known{}, false
	}
	rec, err := t.Find(id)
	if err != nil {
		return known{}, false // the observation is shown without its cause
	}
	ev, err := rec.Event()
	if err != nil {
		return known{}, false
	}
	act, ok := ev.(*event.ActionEvent)
	return known{ID(rec.Seq, 0), act}, ok
}

// causeOfCall is cause for an action that is known by its call only.
func (t *Translator) causeOfCall(toolCallID string) *int64 {
	for id, k := range t.actions {
		if k.ev.ToolCallID == toolCallID {
			delete(t.actions, id)
			return &k.id
		}
	}
	return nil
}

// idOf returns the V0 id of an event.
func (t *Translator) idOf(id event.ID) (int64, bool) {
	if t.Find == nil {
		return 0, false
	}
	rec, err := t.Find(id)
	if err != nil {
		return 0, false // the event was condensed from another branch
	}
	return ID(rec.Seq, 0), true
}

// translate translates an event that holds nothing back; nil if V0 has none for it.
func (t *Translator) translate(stored event.Event) *Event {
	switch ev := stored.(type) {
	case *event.SystemPromptEvent:
		return systemOf(ev)
	case *event.ObservationEvent:
		k, found := t.cause(ev.ActionID)
		out := observationOf(ev, k.ev)
		if out != nil && found {
			out.Cause = &k.id
		}
		return out
	case *event.UserRejectObservation:
		out := observation("user_rejected", ev.RejectionReason, ev.RejectionReason, nil)
		if k, found := t.cause(ev.ActionID); found {
			out.Cause = &k.id
		}
		out.Source = sourceUser
		if ev.RejectionSource == event.RejectedByHook {
			out.Source = sourceEnvironment
		}
		return out
	case *event.AgentErrorEvent:
		out := errorObservation(ev.Error, "")
		out.Cause = t.causeOfCall(ev.ToolCallID)
		return out
	case *event.ConversationErrorEvent:
		t.reason = ev.Detail
		out := errorObservation(ev.Detail, ev.Code)
		out.Source = sourceEnvironment
		return out
	case *event.PauseEvent, *event.InterruptEvent:
		out := action("change_agent_state", "Agent state changed to paused", map[string]any{"agent_state": "paused", "thought": ""})
		out.Source = sourceUser
		return out
	case *event.Condensation:
		return t.condensation(ev)
	case *event.CondensationRequest:
		return action("condensation_request", "Requesting a condensation of the conversation history.", map[string]any{})
	case *event.ACPToolCallEvent:
		return acpObservation(ev)
	}
	return nil
}

// condensation gives the first and the last of the forgotten events: V0 has ranges,
// which are short whatever is forgotten.
func (t *Translator) condensation(ev *event.Condensation) *Event {
	args := map[string]any{
		"forgotten_event_ids": []int64{}, "forgotten_events_start_id": nil, "forgotten_events_end_id": nil,
		"summary": ev.Summary, "summary_offset": ev.SummaryOffset,
	}
	if n := len(ev.ForgottenEventIDs); n > 0 {
		first, foundFirst := t.idOf(ev.ForgottenEventIDs[0])
		last, foundLast := t.idOf(ev.ForgottenEventIDs[n-1])
		if foundFirst && foundLast {
			args["forgotten_event_ids"] = nil
			args["forgotten_events_start_id"], args["forgotten_events_end_id"] = min(first, last), max(first, last)
		}
	}
	message := "The condenser removed events from what the model sees."
	if len(ev.ForgottenEventIDs) == 0 {
		message = "The condenser removed nothing from what the model sees."
	}
	if ev.Summary != nil && *ev.Summary != "" {
		message = "Summary: " + *ev.Summary
	}
	out := action("condensation", message, args)
	out.Source = sourceAgent
	return out
}

// place gives the V0 events of a record their ids, and events without a source the
// record's.
func place(rec eventstream.Record, source event.Source, evs ...*Event) []*Event {
	for i, ev := range evs {
		if ev == nil {
			continue
		}
		ev.ID, ev.Timestamp = ID(rec.Seq, i), rec.Timestamp
		if ev.Source == "" {
			ev.Source = sourceOf(source)
		}
	}
	return slices.DeleteFunc(evs, func(ev *Event) bool { return ev == nil })
}

func sourceOf(s event.Source) string {
	switch s {
	case event.SourceAgent, event.SourceUser:
		return string(s)
	}
	return sourceEnvironment
}

// agentState is V0's name of a status.
func agentState(s state.Status) string {
	switch s {
	case state.Idle:
		return "awaiting_user_input"
	case state.Confirming:
		return "awaiting_user_confirmation"
	case state.Stuck:
		return "error"
	case state.Deleting:
		return "stopped"
	}
	return string(s) // running, paused, finished, error
}

func stateChanged(s state.Status) *Event {
	return observation("agent_state_changed", "", "", map[string]any{"agent_state": agentState(s), "reason": ""})
}
