package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// UndoOptions say how far a conversation goes back.
type UndoOptions struct {
	// To is the event that it goes back to; empty for what came before the last
	// message of the user.
	To event.ID
	// KeepFiles leaves the files as they are.
	KeepFiles bool
	// Commits takes what Git has checked out back too, with the files: see [Moved].
	Commits bool
	// Preview changes nothing.
	Preview bool
}

// Undone says what an undo did, or would do.
type Undone struct {
	// From and To are the events that HEAD was at, and is at; To is empty where no
	// event is before. Undoing to From takes the undo back.
	From, To event.ID
	Files    checkpoint.Changes
	Commits  Moved
}

// Undo takes a conversation and the files of its workspace back to an event. Files stay
// as they are if no action has followed it. Nothing is deleted from the conversation: a branch of its own begins with the next event.
// Invalid if there is nothing to undo, NotFound for an unknown event or files without
// checkpoint ([ErrNoCheckpoint]), Unsupported where there are no checkpoints, Conflict while it runs.
func (c *Conversation) Undo(ctx context.Context, o UndoOptions) (u Undone, err error) {
	err = c.withWorker(ctx, func(w *worker) error {
		if w.Busy() {
			return fault.New(fault.Conflict, "the conversation is running").Hint("stop it first")
		}
		t, err := c.eventTree(ctx)
		if err != nil {
			return err
		}
		s := w.State()
		to, files := o.To, o.To
		if to == "" {
			if s.LastUserMessage == "" {
				return fault.New(fault.Invalid, "there is nothing to undo: the conversation has no message of the user")
			}
			to, files = t.events[s.LastUserMessage].parent, s.LastUserMessage
		}
		if u.To, err = c.onTree(ctx, to); err != nil {
			return err
		}
		if err := c.settled(ctx, u.To); err != nil {
			return err
		}
		if u.From = s.Head; u.To == u.From && o.To != "" && o.KeepFiles {
			return fault.New(fault.Invalid, "the conversation is at this event already")
		}
		if !o.KeepFiles && t.acted(u.To, u.From) {
			r, err := c.filesAt(ctx, t, files)
			if err != nil {
				return err
			}
			present := c.pointOf(ctx, u.From)
			if u.Files, err = c.undoFiles(ctx, present, r, o.Preview); err != nil {
				return err
			}
			if o.Commits {
				u.Commits = undoCommits(ctx, w.res.RunProgram, c.Workspace(), present.Checkout, r.Checkout, o.Preview)
			}
		}
		if o.Preview || u.To == u.From {
			return nil
		}
		if err := w.Navigate(ctx, u.To); err != nil {
			return err
		}
		c.saveIfIdle(w)
		return nil
	})
	return u, err
}

// settled returns an error of kind Invalid for an event at which calls of the model
// have no result yet: they would be made again from there.
func (c *Conversation) settled(ctx context.Context, at event.ID) error {
	answered := map[string]bool{}
	for calls := false; at != "" && at != event.Root; {
		rec, err := c.m.o.Store.Get(ctx, c.id, at)
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

// filesAt returns the checkpoint of what the files were at an event.
func (c *Conversation) filesAt(ctx context.Context, t eventTree, at event.ID) (checkpoint.Record, error) {
	cps, err := c.checkpoints(ctx)
	if err != nil {
		return checkpoint.Record{}, err
	}
	all, err := cps.All(ctx, c.Workspace(), c.id)
	if err != nil {
		return checkpoint.Record{}, err
	}
	r, ok := t.filesAt(at, all)
	if !ok {
		return checkpoint.Record{}, noFilesAt(at)
	}
	return r, nil
}

// undoFiles brings the files of a checkpoint back, and takes one of the present.
func (c *Conversation) undoFiles(ctx context.Context, present checkpoint.Point, r checkpoint.Record, preview bool) (checkpoint.Changes, error) {
	cps, err := c.checkpoints(ctx)
	if err != nil {
		return checkpoint.Changes{}, err
	}
	if preview {
		return cps.Compare(ctx, c.Workspace(), r)
	}
	return cps.Restore(ctx, present, r)
}

// ErrNoCheckpoint is in the chain of errors about files that are not known at an event.
var ErrNoCheckpoint = fault.New(fault.NotFound, "no checkpoint")

func noFilesAt(id event.ID) error {
	return fault.New(fault.NotFound, "the files at the event "+string(id)+" are not known").Because(ErrNoCheckpoint)
}

// Point is an event of a conversation at which its files are known.
type Point struct {
	Event      event.ID
	Text       string // of a message; the kind of any other event
	Checkpoint checkpoint.Record
}

// Points returns the events that have a checkpoint, of all branches, in order.
func (c *Conversation) Points(ctx context.Context) (points []Point, err error) {
	cps, err := c.checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	all, err := cps.All(ctx, c.Workspace(), c.id)
	if err != nil {
		return nil, err
	}
	for rec, err := range c.m.o.Store.Read(ctx, c.id, 1) {
		if err != nil {
			return nil, fmt.Errorf("read the events of conversation %s: %w", c.id, err)
		}
		r, ok := all[rec.ID]
		if !ok {
			continue
		}
		p := Point{Event: rec.ID, Text: rec.Kind, Checkpoint: r}
		if ev, err := rec.Event(); err != nil {
			return nil, fmt.Errorf("read event %s: %w", rec.ID, err)
		} else if m, ok := ev.(*event.MessageEvent); ok {
			p.Text = event.JoinText(m.LLMMessage.Content)
		}
		points = append(points, p)
	}
	return points, nil
}

// eventTree is how the events of a conversation hang together.
type eventTree struct {
	events   map[event.ID]treeEvent
	children map[event.ID][]event.ID
}

type treeEvent struct {
	parent event.ID // "" for none
	kind   string
	still  bool // the result of a tool that changes no files, whatever else is going on
}

// eventTree reads the events of all branches.
func (c *Conversation) eventTree(ctx context.Context) (eventTree, error) {
	t := eventTree{map[event.ID]treeEvent{}, map[event.ID][]event.ID{}}
	for rec, err := range c.m.o.Store.Read(ctx, c.id, 1) {
		if err != nil {
			return t, fmt.Errorf("read the events of conversation %s: %w", c.id, err)
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

// changesNothing reports whether an event is the result of a tool that only ends or notes
// something. A message can come before it, where the tool has waited for a checkpoint.
func changesNothing(rec eventstream.Record) (bool, error) {
	if rec.Kind != "ObservationEvent" {
		return false, nil
	}
	var result struct {
		Tool string `json:"tool_name"`
	}
	if err := json.Unmarshal(rec.JSON, &result); err != nil {
		return false, fault.Wrap(err, fault.Corrupt, "read event "+string(rec.ID))
	}
	return result.Tool == "finish" || result.Tool == "think", nil
}

// acted reports whether a call was made between two events, or the second one does not
// follow the first.
func (t eventTree) acted(from, to event.ID) bool {
	for to != from {
		e, ok := t.events[to]
		if !ok || e.kind == "ActionEvent" {
			return true
		}
		to = e.parent
	}
	return false
}

// filesAt returns the checkpoint of what the files were at an event: its own, or one
// between which and the event no action has ended.
func (t eventTree) filesAt(id event.ID, all map[event.ID]checkpoint.Record) (r checkpoint.Record, ok bool) {
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
