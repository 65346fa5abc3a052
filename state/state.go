// Package state folds a conversation's events into its State: the agent's view,
// the pending actions, the cost, HEAD. A State is never stored; it is always the
// fold of the stream, so two folds of the same stream are equal and a crash loses
// nothing.
//
// # The tree
//
// A conversation is a tree in one ordered stream. Each event names its parent;
// HEAD is the parent of the next event, and the path from the root to
// HEAD is the active branch. Appending an event moves HEAD to it. A state
// update (ConversationStateUpdateEvent) is not part of the tree: it applies to
// the conversation as a whole, on every branch. One such update, with the
// key [KeyHead], moves HEAD to any event, or with the value null to nothing;
// so a move is recorded like everything else. Abandoned branches stay stored.
// The parent of an event of an old writer, which names none, is the event before
// it.
//
// # Usage
//
//	f := state.NewFold(load)
//	for rec := range records { err = f.Apply(int64(rec.Seq), ev) }
//	s := f.State() // an immutable snapshot
//
// # Concurrency
//
// A Fold belongs to one goroutine. A State is immutable: it may be handed to
// any number of readers, and taking one costs the same however long the
// conversation is.
//
// # Failure
//
// Apply fails only if an event that a HEAD move needs again cannot be loaded,
// or if HEAD is to move to an event that does not exist; the fold is then as
// it was before. A malformed value of a known state field is ignored, as the
// reference does.
package state

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
)

// Status is the execution status of a conversation (docs/openhands/sdk-wire.md section 5.3).
type Status string

// The statuses.
const (
	Idle       Status = "idle"
	Running    Status = "running"
	Paused     Status = "paused"
	Confirming Status = "waiting_for_confirmation"
	Finished   Status = "finished"
	Errored    Status = "error"
	Stuck      Status = "stuck"
	Deleting   Status = "deleting"
)

// Terminal reports whether a run in this status has ended for good until a
// new message comes.
func (s Status) Terminal() bool { return s == Finished || s == Errored || s == Stuck }

// Keys of state updates that the fold understands. All others are kept in
// State.Fields.
const (
	KeyStatus = "execution_status"
	KeyStats  = "stats"
	// KeyHead moves HEAD; its value is an event id, or null for nothing.
	KeyHead = "leaf_event_id"
)

// State is a snapshot of a conversation. It must not be changed.
type State struct {
	// Seq is the last folded event's, 0 for an empty conversation.
	Seq int64
	// Head is the parent of the next event; empty when there is none,
	// because the conversation is empty or HEAD was moved to nothing.
	Head event.ID
	// Status is idle until an update says otherwise.
	Status Status
	// View is the model's view: the active branch without the events that
	// condensations removed, with their summaries in place.
	View []event.Event
	// Pending are the actions of the active branch that have neither an
	// observation nor an error nor a rejection, in order.
	Pending []*event.ActionEvent
	// Analysis is the last rating of actions; nil for none.
	Analysis *event.SecurityAnalysisEvent
	// Decisions are the recorded hooks before pending actions.
	Decisions []*event.HookExecutionEvent
	// CondensationRequested is set while a CondensationRequest is unanswered.
	CondensationRequested bool
	LastUserMessage       event.ID
	// Tasks is the task tracker's list.
	Tasks []event.TaskItem
	// Stats holds the metrics by usage id. They count every branch: spending on an
	// abandoned one is spent.
	Stats Stats
	// Fields holds the last value of every other state update, by key.
	Fields map[string]json.RawMessage
	// LastTime is the greatest timestamp so far; later events are stamped no
	// earlier (docs/openhands/sdk-wire-1.58.md section A, event order).
	LastTime event.Timestamp
}

// Field decodes the field key into out and reports whether it is there and
// fits.
func (s *State) Field(key string, out any) bool {
	raw, ok := s.Fields[key]
	return ok && json.Unmarshal(raw, out) == nil
}
