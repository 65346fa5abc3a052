// Package history reads the tree of a conversation's events: which event follows which,
// on all branches, and at which ones the files of the workspace are known.
//
// # Usage
//
//	t, err := history.Read(ctx, stream, id)
//	r, known := t.FilesAt(event, checkpoints)
//
// # Concurrency
//
// Everything may be called from any goroutine. A [Tree] does not change.
//
// # Failure
//
// Errors have the kinds of package fault: NotFound for an unknown event, Invalid for one
// from which a conversation cannot continue.
package history

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// kindStateUpdate is the kind of events that are not in the tree.
const kindStateUpdate = "ConversationStateUpdateEvent"

// Tree has the events of a conversation.
type Tree struct {
	events   map[event.ID]treeEvent
	children map[event.ID][]event.ID
}

type treeEvent struct {
	parent event.ID // "" for none
	kind   string
	still  bool // the call or the result of a tool that changes no files, even beside others
}

// Read reads the events of all branches.
func Read(ctx context.Context, s eventstream.Stream, id event.ConversationID) (Tree, error) {
	t := Tree{map[event.ID]treeEvent{}, map[event.ID][]event.ID{}}
	for rec, err := range s.Read(ctx, id, 1) {
		if err != nil {
			return t, fmt.Errorf("read the events of conversation %s: %w", id, err)
		}
		if rec.Kind == kindStateUpdate {
			continue // not in the tree
		}
		parent := rec.ParentID
		if parent == event.Root {
			parent = ""
		}
		still, err := changesNothing(rec)
		if err != nil {
			return t, err
		}
		t.events[rec.ID] = treeEvent{parent, rec.Kind, still}
		t.children[parent] = append(t.children[parent], rec.ID)
	}
	return t, nil
}

// changesNothing reports whether an event is the call or the result of a tool that changes no
// files. A message can come before the result if the tool has waited for a checkpoint.
func changesNothing(rec eventstream.Record) (bool, error) {
	if rec.Kind != "ActionEvent" && rec.Kind != "ObservationEvent" {
		return false, nil
	}
	var of struct {
		Tool string `json:"tool_name"`
	}
	if err := json.Unmarshal(rec.JSON, &of); err != nil {
		return false, fault.Wrap(err, fault.Corrupt, "read event "+string(rec.ID))
	}
	return of.Tool == "finish" || of.Tool == "think", nil
}

// Parent returns the event before another one, "" for none.
func (t Tree) Parent(id event.ID) event.ID { return t.events[id].parent }

// Acted reports whether a call that may change files was made between two events, or the second
// one does not follow the first.
func (t Tree) Acted(from, to event.ID) bool {
	for to != from {
		e, ok := t.events[to]
		if !ok || e.kind == "ActionEvent" && !e.still {
			return true
		}
		to = e.parent
	}
	return false
}

// FilesAt returns the checkpoint of the files at an event: its own, or one with no end of
// an action between it and the event.
func (t Tree) FilesAt(id event.ID, all map[event.ID]checkpoint.Record) (r checkpoint.Record, ok bool) {
	for at := id; at != ""; at = t.events[at].parent {
		if r, ok = all[at]; ok {
			return r, true
		}
		if e := t.events[at]; e.kind == "ObservationEvent" && !e.still || e.kind == "AgentErrorEvent" {
			break
		}
	}
	for next := []event.ID{id}; len(next) > 0; next = next[1:] {
		if r, ok = all[next[0]]; ok {
			return r, true
		}
		if t.events[next[0]].kind != "ActionEvent" { // which changes them
			next = append(next, t.children[next[0]]...)
		}
	}
	return r, false
}

// Settled returns an error of kind Invalid for an event at which calls of the model have no
// result yet: they would be made again from there.
func Settled(ctx context.Context, s eventstream.Stream, id event.ConversationID, at event.ID) error {
	answered := map[string]bool{}
	for calls := false; at != "" && at != event.Root; {
		rec, err := s.Get(ctx, id, at)
		if err != nil {
			return fmt.Errorf("read event %s: %w", at, err)
		}
		ev, err := rec.Event()
		if err != nil {
			return fmt.Errorf("read event %s: %w", at, err)
		}
		switch ev := ev.(type) {
		case *event.ActionEvent:
			if calls = true; !answered[ev.ToolCallID] {
				return fault.New(fault.Invalid, "at this event a call of the model has no result yet").Hint("name the event before the call, or the one with its result")
			}
		case *event.ObservationEvent:
			answered[ev.ToolCallID] = true
		case *event.AgentErrorEvent:
			answered[ev.ToolCallID] = true
		case *event.UserRejectObservation:
			answered[ev.ToolCallID] = true
		}
		if _, call := ev.(*event.ActionEvent); calls && !call {
			return nil // the calls of one answer are stored together
		}
		at = rec.ParentID
	}
	return nil
}

// OnTree returns the event of the tree for an id. A state update is not in the tree: it maps
// to the event that was HEAD when it was published. "" is before the first event. NotFound
// for an id of no event.
func OnTree(ctx context.Context, s eventstream.Stream, conversation event.ConversationID, id event.ID) (event.ID, error) {
	for id != "" {
		rec, err := s.Get(ctx, conversation, id)
		switch {
		case fault.Is(err, fault.NotFound):
			return "", fault.New(fault.NotFound, "Unknown event_id: "+string(id))
		case err != nil:
			return "", err
		case rec.Kind != kindStateUpdate:
			return id, nil
		case rec.ParentID == event.Root || rec.ParentID == id:
			return "", nil
		}
		id = rec.ParentID
	}
	return "", nil
}

// End returns the first event of the tree in an order. NotFound if the first hundred events
// have none.
func End(ctx context.Context, s eventstream.Stream, id event.ConversationID, order eventstream.Order) (event.ID, error) {
	page, err := s.Search(ctx, id, eventstream.Query{Order: order, Limit: 100})
	if err != nil {
		return "", fmt.Errorf("read the events of conversation %s: %w", id, err)
	}
	for _, rec := range page.Records {
		if rec.Kind != kindStateUpdate {
			return rec.ID, nil
		}
	}
	return "", fault.New(fault.NotFound, "the conversation "+string(id)+" has no events")
}
