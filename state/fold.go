package state

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Loader reads an event of the same stream again. A Fold keeps only the model's
// view; moving HEAD back needs events that it no longer holds.
type Loader func(seq int64) (event.Event, error)

// Fold folds events into a State, one at a time.
type Fold struct {
	load   Loader
	tree   tree
	branch branch
	// For all branches.
	seq    int64
	status Status
	stats  Stats
	fields map[string]json.RawMessage
	last   event.Timestamp
}

// NewFold returns the fold of an empty stream.
func NewFold(load Loader) *Fold {
	return &Fold{load: load, tree: newTree(), status: Idle}
}

// Apply folds the next event of the stream. seq must be one more than the
// last one's.
func (f *Fold) Apply(seq int64, ev event.Event) error {
	if seq != f.seq+1 {
		return fault.New(fault.Corrupt, fmt.Sprintf("event %d follows event %d", seq, f.seq))
	}
	if up, ok := ev.(*event.ConversationStateUpdateEvent); ok {
		if err := f.update(up); err != nil {
			return err
		}
	} else {
		f.tree.add(seq, ev.Meta())
		if f.tree.jumped() {
			if err := f.rebuild(seq, ev); err != nil {
				return err
			}
		} else {
			f.branch.add(ev)
		}
	}
	f.seq = seq
	if t := ev.Meta().Timestamp; t > f.last {
		f.last = t
	}
	return nil
}

// State returns a snapshot. It costs the same whatever the history.
func (f *Fold) State() *State {
	return &State{
		Seq: f.seq, Head: f.tree.headID(), Status: f.status,
		View: f.branch.view[:len(f.branch.view):len(f.branch.view)], Pending: f.branch.pending, Analysis: f.branch.analysis, Decisions: f.branch.decisions,
		CondensationRequested: f.branch.condense, LastUserMessage: f.branch.lastUser,
		Tasks: f.branch.tasks, Stats: f.stats, Fields: f.fields, LastTime: f.last,
	}
}

// Has reports whether id is an event of the tree, on any branch.
func (f *Fold) Has(id event.ID) bool {
	_, ok := f.tree.index[id]
	return ok
}

// Empty reports whether the tree has no event, on any branch.
func (f *Fold) Empty() bool { return len(f.tree.nodes) == 0 }

// Runs returns the path from the root to the event id (or to HEAD, for an
// empty id) as contiguous runs of the stream. Their number is the number of
// HEAD moves on the path plus one, and so is the cost. An unknown id is an error
// of kind fault.NotFound.
func (f *Fold) Runs(id event.ID) ([]Run, error) {
	at := f.tree.head
	if id != "" {
		i, ok := f.tree.index[id]
		if !ok {
			return nil, fault.New(fault.NotFound, "no event "+string(id)+" in this conversation")
		}
		at = i
	}
	return f.tree.runs(at), nil
}

func (f *Fold) update(up *event.ConversationStateUpdateEvent) error {
	switch up.Key {
	case KeyHead:
		return f.moveHead(up.Value)
	case KeyStatus:
		var s Status
		if json.Unmarshal(up.Value, &s) == nil && s != "" {
			f.status = s
		}
	case KeyStats:
		f.stats = f.stats.merge(up.Value)
	default:
		next := make(map[string]json.RawMessage, len(f.fields)+1)
		maps.Copy(next, f.fields)
		next[up.Key] = up.Value
		f.fields = next
	}
	return nil
}

func (f *Fold) moveHead(value json.RawMessage) error {
	var id *event.ID
	if err := json.Unmarshal(value, &id); err != nil {
		return fault.Wrap(err, fault.Invalid, "HEAD must be an event id or null")
	}
	before := f.tree.head
	if id == nil {
		f.tree.head = none
	} else {
		i, ok := f.tree.index[*id]
		if !ok {
			return fault.New(fault.NotFound, "no event "+string(*id)+" in this conversation")
		}
		f.tree.head = i
	}
	f.tree.moved = true
	if f.tree.head == before {
		return nil
	}
	if err := f.rebuild(0, nil); err != nil {
		f.tree.head = before
		return err
	}
	return nil
}

// rebuild folds the active branch anew. known, at seq, is not loaded.
func (f *Fold) rebuild(seq int64, known event.Event) error {
	var b branch
	for _, s := range f.tree.path() {
		ev := known
		if s != seq || known == nil {
			var err error
			if ev, err = f.load(s); err != nil {
				return fmt.Errorf("load event %d for a HEAD move: %w", s, err)
			}
		}
		b.add(ev)
	}
	f.branch = b
	return nil
}
