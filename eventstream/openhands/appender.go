package openhands

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/rawjson"
)

// A batch of an import is appended when it has this many events or bytes.
const (
	batchEvents = 256
	batchBytes  = 8 << 20
)

// appender checks events and appends them in batches.
type appender struct {
	s     eventstream.Stream
	id    event.ConversationID
	seen  map[event.ID]bool
	head  head
	batch []eventstream.Record
	size  int
	count int
}

func newAppender(s eventstream.Stream, id event.ConversationID) *appender {
	return &appender{s: s, id: id, seen: map[event.ID]bool{}}
}

// parse makes a record of an event's JSON; its bytes stay as they are, but for halves of surrogate
// pairs, which readers in other languages refuse.
func parse(raw json.RawMessage) (eventstream.Record, event.Event, error) {
	raw = rawjson.WellFormed(raw)
	ev, err := event.Unmarshal(raw)
	if err != nil {
		return eventstream.Record{}, nil, err
	}
	m := ev.Meta()
	if m.ID == "" || m.ID == event.Root {
		return eventstream.Record{}, nil, fault.New(fault.Invalid, "an event has no id")
	}
	return eventstream.Record{
		ID: m.ID, ParentID: m.ParentID, Kind: ev.Kind(),
		Source: m.Source, Timestamp: m.Timestamp, JSON: raw,
	}, ev, nil
}

// hasParent reports whether the record's parent was appended already. The
// parent of an event is an earlier event, so that there can be no cycle.
func (in *appender) hasParent(r eventstream.Record) bool {
	return r.ParentID == "" || r.ParentID == event.Root || in.seen[r.ParentID]
}

func (in *appender) add(ctx context.Context, r eventstream.Record, ev event.Event) error {
	if in.seen[r.ID] {
		return fault.New(fault.Invalid, fmt.Sprintf("event %s occurs twice", r.ID))
	}
	if !in.hasParent(r) {
		return fault.New(fault.Invalid, fmt.Sprintf("the parent of event %s is %s, which is not an earlier event", r.ID, r.ParentID))
	}
	in.seen[r.ID] = true
	in.head.apply(ev)
	in.batch = append(in.batch, r)
	in.size += len(r.JSON)
	in.count++
	if len(in.batch) >= batchEvents || in.size >= batchBytes {
		return in.flush(ctx)
	}
	return nil
}

func (in *appender) flush(ctx context.Context) error {
	if len(in.batch) == 0 {
		return nil
	}
	_, err := in.s.AppendRecords(ctx, in.id, in.batch...)
	in.batch, in.size = in.batch[:0], 0
	return err
}

// importInto makes a conversation and runs fill, which appends its events. When
// that fails, the conversation is deleted.
func importInto(ctx context.Context, s eventstream.Stream, id event.ConversationID, meta eventstream.Meta, fill func(*appender) error) (int, error) {
	if err := s.Create(ctx, id, meta); err != nil {
		return 0, err
	}
	in := newAppender(s, id)
	err := fill(in)
	if err == nil {
		err = in.flush(ctx)
	}
	if err == nil {
		return in.count, nil
	}
	if undo := s.Delete(context.WithoutCancel(ctx), id); undo != nil {
		return 0, fmt.Errorf("%w (and what was imported could not be removed: %w)", err, undo)
	}
	return 0, err
}

// head is the parent of the next event: the last event that is part of the
// tree, or the one that a later leaf_event_id update names.
type head struct {
	leaf  event.ID // empty for nothing
	moved bool     // by an update, to nothing too
}

func (h *head) apply(ev event.Event) {
	if event.MovesHead(ev) {
		h.leaf, h.moved = ev.Meta().ID, false
		return
	}
	up, ok := ev.(*event.ConversationStateUpdateEvent)
	if !ok || up.Key != leafKey {
		return
	}
	var leaf *event.ID
	if json.Unmarshal(up.Value, &leaf) != nil {
		return // not an id: nothing moved
	}
	h.leaf, h.moved = "", true
	if leaf != nil {
		h.leaf = *leaf
	}
}
