// Package v0event translates between the stored events of a conversation and the
// events of OpenHands' first REST API (V0): integer ids, and one flat object for each
// action or observation
// (docs/openhands/app-server-v0.md section 5).
//
// # Usage
//
//	var t v0event.Translator
//	for rec, err := range stream.Follow(ctx, id, v0event.SeqOf(latest+1)) {
//		…
//		for _, ev := range t.Add(rec) { … }
//		if t.Holds() && rec.Seq == last { // nothing follows yet
//			for _, ev := range t.Flush() { … }
//		}
//	}
//
// [Page] reads one page of events, [Parse] reads a client's events.
//
// # Ids
//
// The id of a V0 event is derived from the Seq of the stored event that it comes from
// (see [ID]), so it is the same whenever and from wherever the stream is read, and
// rises with the Seq. Not every stored event has a V0 form: the ids have gaps.
//
// # What an action waits for
//
// In V0 an action says itself whether it awaits the user's confirmation, its cost and
// with how many others it was called. The store has that in later events of the same
// append. So a [Translator] holds the actions and messages of the agent back until an
// event follows that decides it, or until [Translator.Flush].
//
// # Concurrency and failure
//
// A Translator belongs to one reader. Everything else is safe for concurrent use.
// Events that cannot be decoded have no V0 form; wrong events of a client are
// refused with fault.Invalid, or fault.Unsupported for actions that only agents
// take.
package v0event

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// perSeq is how many V0 events one stored event may become.
const perSeq = 2

// ID returns the id of the i-th V0 event of a stored event, i from 0 on. The first
// event of a conversation has the id 0.
func ID(seq eventstream.Seq, i int) int64 { return int64(seq-1)*perSeq + int64(i) }

// SeqOf returns the stored event that an id belongs to, 1 for a negative id.
func SeqOf(id int64) eventstream.Seq {
	return eventstream.Seq(max(id, 0)/perSeq) + 1
}

// The sources of V0 events.
const (
	sourceAgent       = "agent"
	sourceUser        = "user"
	sourceEnvironment = "environment"
)

// Event is an event of V0: an action, or an observation.
type Event struct {
	ID               int64             `json:"id"`
	Timestamp        event.Timestamp   `json:"timestamp"`
	Source           string            `json:"source"`
	Message          string            `json:"message"`
	Cause            *int64            `json:"cause,omitempty"` // the id of the action that an observation answers
	Action           string            `json:"action,omitempty"`
	Observation      string            `json:"observation,omitempty"`
	ToolCallMetadata *ToolCallMetadata `json:"tool_call_metadata,omitempty"`
	LLMMetrics       *Metrics          `json:"llm_metrics,omitempty"`
	Args             map[string]any    `json:"args,omitzero"`
	Timeout          *float64          `json:"timeout,omitempty"` // of an action, in seconds
	Content          *string           `json:"content,omitempty"` // of an observation
	Extras           map[string]any    `json:"extras,omitzero"`
	Success          *bool             `json:"success,omitempty"` // of an observation of a command
}

// kind is the name of the action or observation.
func (e *Event) kind() string { return e.Action + e.Observation }

// Hidden reports whether the event is not meant for people.
func (e *Event) Hidden() bool {
	hidden, _ := e.Args["hidden"].(bool)
	return hidden
}

// ToolCallMetadata is the call of a tool that an action was made of.
type ToolCallMetadata struct {
	FunctionName string         `json:"function_name"`
	ToolCallID   string         `json:"tool_call_id"`
	Response     map[string]any `json:"model_response"`
	TotalCalls   int            `json:"total_calls_in_response"`
}

func action(name, message string, args map[string]any) *Event {
	return &Event{Action: name, Message: message, Args: args}
}

func observation(name, message, content string, extras map[string]any) *Event {
	if extras == nil {
		extras = map[string]any{}
	}
	return &Event{Observation: name, Message: message, Content: &content, Extras: extras}
}
