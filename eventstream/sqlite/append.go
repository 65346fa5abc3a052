package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/fault"
)

// Append implements [eventstream.Stream].
func (s *Store) Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (eventstream.Seq, error) {
	ps := make([]packed, len(evs))
	for i, ev := range evs {
		r, err := eventstream.Encode(ev)
		if err != nil {
			return 0, err
		}
		ps[i] = pack(r)
	}
	return s.append(ctx, id, ps)
}

// AppendRecords implements [eventstream.Stream]. It also refuses records
// whose JSON is not an object, because they would be served as it is.
func (s *Store) AppendRecords(ctx context.Context, id event.ConversationID, recs ...eventstream.Record) (eventstream.Seq, error) {
	ps := make([]packed, len(recs))
	for i, r := range recs {
		if r.ID == "" || r.Kind == "" {
			return 0, fault.New(fault.Invalid, "an event needs an id and a kind")
		}
		if len(r.JSON) < 2 || r.JSON[0] != '{' || !json.Valid(r.JSON) {
			return 0, fault.New(fault.Invalid, fmt.Sprintf("event %s is not a JSON object", r.ID))
		}
		ps[i] = pack(r)
	}
	return s.append(ctx, id, ps)
}

func (s *Store) append(ctx context.Context, id event.ConversationID, ps []packed) (last eventstream.Seq, err error) {
	err = s.queue.do(ctx, func(w *writer) error {
		last, err = w.append(id, ps)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("append to conversation %s: %w", id, err)
	}
	return last, nil
}

const (
	insertRecord = "INSERT OR IGNORE INTO records (log, seq, label, ts, id, rec) VALUES (?, ?, ?, ?, ?, ?)"
	undoRecords  = "DELETE FROM records WHERE log = ? AND seq > ?"
)

// append adds events to one conversation. A refused request takes back what
// it had inserted: the others of its transaction go on.
func (w *writer) append(id event.ConversationID, ps []packed) (eventstream.Seq, error) {
	h, err := w.head(id)
	if err != nil {
		return 0, err
	}
	if len(ps) == 0 {
		return h.events, nil
	}
	status, seq := h.status, h.events
	for i := range ps {
		p := &ps[i]
		fresh, err := w.insert(h, p, seq+1)
		if err != nil {
			return 0, err
		}
		if !fresh {
			if _, err := w.c.exec(undoRecords, h.log, int64(h.events)); err != nil {
				return 0, err
			}
			return 0, fault.New(fault.Conflict, fmt.Sprintf("the conversation already has an event %s", unpackID(p.id)))
		}
		seq++
		if p.status != nil {
			status = *p.status
		}
	}
	h.events, h.status = seq, status
	w.dirty[id] = h
	return seq, nil
}

// insert writes one record; fresh is false when its id is taken.
func (w *writer) insert(h *head, p *packed, seq eventstream.Seq) (fresh bool, err error) {
	n, err := w.labels.number(w.c, label{p.kind, p.source})
	if err != nil {
		return false, err
	}
	for i, piece := range h.pieces {
		if i > 0 && piece.src == h.pieces[i-1].src {
			continue // looked up already
		}
		at, err := findID(w.c, h, piece.src, p.id)
		if err != nil || at != 0 {
			return false, err
		}
	}
	changed, err := w.c.exec(insertRecord, h.log, int64(seq), n, p.ts, p.id, p.place(h.log, seq))
	return changed == 1, err
}

// findID returns where in the conversation the event of an id lies that is
// stored in the log src, or 0.
func findID(c *conn, h *head, src int64, id any) (eventstream.Seq, error) {
	n, found, err := c.number("SELECT seq FROM records WHERE log = ? AND id = ?", src, id)
	if err != nil || !found {
		return 0, err
	}
	seq := eventstream.Seq(n)
	for _, p := range append(h.pieces[:len(h.pieces):len(h.pieces)], h.own()) {
		if p.src == src && p.first <= seq && seq <= p.last {
			return p.at + seq - p.first, nil
		}
	}
	return 0, nil
}
