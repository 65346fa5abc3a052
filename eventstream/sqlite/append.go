package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
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

// append adds events to one conversation. It changes nothing before it knows
// that the request is not refused.
func (w *writer) append(id event.ConversationID, ps []packed) (eventstream.Seq, error) {
	h, err := w.head(id)
	if err != nil {
		return 0, err
	}
	if len(ps) == 0 {
		return h.events, nil
	}
	if err := w.refuse(h, ps); err != nil {
		return 0, err
	}
	for i := range ps {
		if err := w.insert(h, &ps[i]); err != nil {
			return 0, err
		}
	}
	w.dirty[id] = h
	w.fresh = w.topics.note(w.fresh, fresh{id, h.log, h.events, ps})
	return h.events, nil
}

// refuse returns why events cannot be appended.
func (w *writer) refuse(h *head, ps []packed) error {
	if lumpOf(h.events+eventstream.Seq(len(ps))) >= maxLumps {
		return fault.New(fault.Invalid, fmt.Sprintf("a conversation has at most %d events", maxLumps*lumpEvents))
	}
	var seen map[event.ID]struct{}
	if len(ps) > 1 {
		seen = make(map[event.ID]struct{}, len(ps))
	}
	for i := range ps {
		p := &ps[i]
		_, taken := seen[p.rec.ID]
		if !taken {
			var err error
			if _, taken, err = h.locate(w.c, p.rec.ID, p.hash, w.readBack(h)); err != nil {
				return err
			}
		}
		if h.known == nil && h.asked > h.buckets {
			if err := w.learn(h); err != nil {
				return err
			}
		}
		if taken {
			return fault.New(fault.Conflict, fmt.Sprintf("the conversation already has an event %s", p.rec.ID))
		}
		if seen != nil {
			seen[p.rec.ID] = struct{}{}
		}
	}
	return nil
}

// readBack reads events, those of this transaction too.
func (w *writer) readBack(h *head) func(piece) (eventstream.Record, error) {
	return func(p piece) (eventstream.Record, error) {
		if err := w.chunk.flush(w.c); err != nil {
			return eventstream.Record{}, err
		}
		return h.readOne(w.c, w.labels, p)
	}
}

func (w *writer) insert(h *head, p *packed) error {
	n, err := w.labels.number(w.c, label{p.rec.Kind, p.rec.Source})
	if err != nil {
		return err
	}
	at, err := w.chunk.add(w.c, p, h.log, h.events+1, n)
	if err != nil {
		return err
	}
	h.events++
	h.tail.add(at, p.rec.Timestamp)
	h.hashes = append(h.hashes, p.hash)
	if p.status != nil {
		h.status = *p.status
	}
	if p.cost != nil {
		h.cost = *p.cost
	}
	if h.events%lumpEvents > 0 {
		return nil
	}
	if err := w.index(h); err != nil {
		return err
	}
	if err := w.saveLump(h.log, &h.tail); err != nil {
		return err
	}
	h.tail = lump{first: h.events + 1, spots: h.tail.spots[:0]}
	h.hashes = h.hashes[:0]
	return nil
}
