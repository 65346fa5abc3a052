package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Append implements [eventstream.Stream].
func (s *Store) Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (eventstream.Seq, error) {
	entries := make([]entry, len(evs))
	for i, ev := range evs {
		r, err := eventstream.Encode(ev)
		if err != nil {
			return 0, err
		}
		entries[i] = newEntry(r)
	}
	return s.append(ctx, id, entries)
}

// AppendRecords implements [eventstream.Stream]. It also refuses records
// whose JSON is not an object, because they are served as they are.
func (s *Store) AppendRecords(ctx context.Context, id event.ConversationID, recs ...eventstream.Record) (eventstream.Seq, error) {
	entries := make([]entry, len(recs))
	for i, r := range recs {
		if r.ID == "" || r.Kind == "" {
			return 0, fault.New(fault.Invalid, "an event needs an id and a kind")
		}
		if len(r.JSON) < 2 || r.JSON[0] != '{' || !json.Valid(r.JSON) {
			return 0, fault.New(fault.Invalid, fmt.Sprintf("event %s is not a JSON object", r.ID))
		}
		r.JSON = bytes.Clone(r.JSON) // the caller may change its own
		entries[i] = newEntry(r)
	}
	return s.append(ctx, id, entries)
}

func (s *Store) append(ctx context.Context, id event.ConversationID, entries []entry) (last eventstream.Seq, err error) {
	err = s.queue.do(ctx, func(w *writer) error {
		last, err = w.append(id, entries)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("append to conversation %s: %w", id, err)
	}
	return last, nil
}

// append adds events to one conversation. A request that is refused leaves no
// trace.
func (w *writer) append(id event.ConversationID, entries []entry) (eventstream.Seq, error) {
	c, err := w.conversation(id)
	if err != nil {
		return 0, err
	}
	if len(entries) == 0 {
		return c.events, nil
	}
	for i := range entries {
		if err := w.insert(c, &entries[i], c.events+eventstream.Seq(i)+1); err != nil {
			_, undo := w.db.exec("DELETE FROM events WHERE conversation = ? AND seq > ?", c.key, int64(c.events))
			return 0, cmp.Or(undo, err)
		}
	}
	first := c.events + 1
	c.events += eventstream.Seq(len(entries))
	for i := range entries {
		if s := entries[i].status; s != nil {
			c.status = *s
		}
		if f := entries[i].cost; f != nil {
			c.cost = *f
		}
	}
	c.touched = true
	w.changed[id] = c
	w.fresh = append(w.fresh, fresh{id, c.key, first, entries})
	return c.events, nil
}

// insert stores one event. Conflict if its id is taken.
func (w *writer) insert(c *conversation, e *entry, seq eventstream.Seq) (err error) {
	taken := false
	if c.shared > 0 {
		if _, taken, err = c.find(w.db, e.rec.ID, c.shared); err != nil {
			return err
		}
	}
	if !taken {
		n, err := w.db.exec(insertEvent, string(e.rec.ID), string(e.rec.ParentID), e.rec.Kind, string(e.rec.Source), string(e.rec.Timestamp),
			string(e.rec.JSON), c.key, int64(seq), int64(checksum(e.crc, c.key, int64(seq))))
		if err != nil {
			return err
		}
		taken = n == 0
	}
	if taken {
		return fault.New(fault.Conflict, fmt.Sprintf("the conversation already has an event %s", e.rec.ID))
	}
	return nil
}
