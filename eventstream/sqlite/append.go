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
	insertRecord = "INSERT INTO records (log, seq, label, ts, id, rec) VALUES (?, ?, ?, ?, ?, ?)"
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
		taken, err := w.taken(h, p)
		if err != nil {
			return 0, err
		}
		if taken {
			return 0, w.refuse(h, ps[:i], p.key)
		}
		seq++
		if err := w.insert(h, p, seq); err != nil {
			return 0, err
		}
		if p.status != nil {
			status = *p.status
		}
	}
	h.events, h.status = seq, status
	w.dirty[id] = h
	if len(h.tail) >= maxTail {
		return seq, w.index(h)
	}
	return seq, nil
}

// refuse takes back what a request inserted before its taken id was met.
func (w *writer) refuse(h *head, inserted []packed, key event.ID) error {
	for i := range inserted {
		delete(h.tail, inserted[i].key)
	}
	if len(inserted) > 0 {
		if _, err := w.c.exec(undoRecords, h.log, int64(h.events)); err != nil {
			return err
		}
	}
	return fault.New(fault.Conflict, fmt.Sprintf("the conversation already has an event %s", key))
}

// taken reports whether the conversation has an event of that id.
func (w *writer) taken(h *head, p *packed) (bool, error) {
	if _, ok := h.tail[p.key]; ok {
		return true, nil
	}
	if h.indexed > h.base {
		if at, err := findID(w.c, h, h.log, p.id); err != nil || at != 0 {
			return true, err
		}
	}
	for i, piece := range h.pieces {
		if i > 0 && piece.src == h.pieces[i-1].src {
			continue // looked up already
		}
		if at, err := findID(w.c, h, piece.src, p.id); err != nil || at != 0 {
			return true, err
		}
	}
	return false, nil
}

func (w *writer) insert(h *head, p *packed, seq eventstream.Seq) error {
	n, err := w.labels.number(w.c, label{p.kind, p.source})
	if err != nil {
		return err
	}
	h.tail[p.key] = seq
	_, err = w.c.exec(insertRecord, h.log, int64(seq), n, p.ts, p.id, p.place(h.log, seq))
	return err
}
