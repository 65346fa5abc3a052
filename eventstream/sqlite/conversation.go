package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

const maxIDLen = 255

// packedMeta is a [eventstream.Meta] as it is stored: what belongs to the
// program that made the conversation may be large and is never looked into.
type packedMeta struct{ meta, extra []byte }

func packMeta(id event.ConversationID, m eventstream.Meta) (packedMeta, error) {
	if id == "" || len(id) > maxIDLen {
		return packedMeta{}, fault.New(fault.Invalid, fmt.Sprintf("a conversation id has 1 to %d bytes", maxIDLen))
	}
	extra := []byte{}
	if m.Extra != nil {
		if !json.Valid(m.Extra) {
			return packedMeta{}, fault.New(fault.Invalid, "the conversation's meta data is not JSON")
		}
		extra, m.Extra = m.Extra, nil
	}
	raw, err := json.Marshal(m)
	return packedMeta{raw, extra}, fault.Wrap(err, fault.Invalid, "encode the conversation's meta data")
}

func (m packedMeta) sum(log int64) int64 { return rowSum(log, m.meta, m.extra) }

// unpack returns errShape when the sum is not that of the row.
func (m packedMeta) unpack(log, sum int64) (out eventstream.Meta, err error) {
	if m.sum(log) != sum {
		return out, fmt.Errorf("the meta data of a conversation does not match its checksum: %w", errShape)
	}
	if string(m.meta) != "{}" {
		err = json.Unmarshal(m.meta, &out)
	}
	if len(m.extra) > 0 {
		out.Extra = m.extra
	}
	return out, err
}

// Create implements [eventstream.Stream].
func (s *Store) Create(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	m, err := packMeta(id, meta)
	if err != nil {
		return err
	}
	return s.queue.do(ctx, func(w *writer) error { return w.create(id, m, "", 0, nil) })
}

func (w *writer) create(id event.ConversationID, m packedMeta, status string, cost float64, pieces []piece) error {
	_, taken, err := w.c.number("SELECT 1 FROM conversations WHERE id = ?", string(id))
	if err != nil {
		return err
	}
	if taken {
		return fault.New(fault.Conflict, fmt.Sprintf("conversation %s exists already", id))
	}
	h := head{status: status, cost: cost, pieces: pieces, updated: time.Now().UnixNano()}
	if n := len(pieces); n > 0 {
		h.base = pieces[n-1].end()
		h.events, h.indexed = h.base, h.base
	}
	h.tail.first = h.base + 1
	created := h.updated
	if _, err := w.c.exec("INSERT INTO conversations (id, created, base, pieces, sum, metasum, meta, extra) VALUES (?, ?, ?, ?, 0, 0, ?, ?)",
		string(id), created, int64(h.base), int64(len(pieces)), m.meta, m.extra); err != nil {
		return err
	}
	if h.log, _, err = w.c.number("SELECT last_insert_rowid()"); err != nil {
		return err
	}
	if _, err := w.c.exec("UPDATE conversations SET sum = ?, metasum = ? WHERE log = ?",
		conversationSum(h.log, string(id), created, int64(h.base), int64(len(pieces))), m.sum(h.log), h.log); err != nil {
		return err
	}
	if _, err := w.c.exec("INSERT INTO heads (log, events, indexed, updated, status, cost, tail, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		h.log, int64(h.events), int64(h.indexed), h.updated, h.status, int64(math.Float64bits(h.cost)), []byte{}, h.sum(nil)); err != nil {
		return err
	}
	for i, p := range pieces {
		if _, err := w.c.exec("INSERT INTO segments (log, ord, src, first, last, at, sum) VALUES (?, ?, ?, ?, ?, ?, ?)",
			h.log, int64(i), p.src, int64(p.first), int64(p.last), int64(p.at), p.sum(h.log, int64(i))); err != nil {
			return err
		}
	}
	w.heads[id] = &h
	return nil
}

// SetMeta implements [eventstream.Stream].
func (s *Store) SetMeta(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	m, err := packMeta(id, meta)
	if err != nil {
		return err
	}
	return s.queue.do(ctx, func(w *writer) error {
		h, err := w.head(id)
		if err != nil {
			return err
		}
		if _, err := w.c.exec("UPDATE conversations SET metasum = ?, meta = ?, extra = ? WHERE log = ?", m.sum(h.log), m.meta, m.extra, h.log); err != nil {
			return err
		}
		w.dirty[id] = h
		return nil
	})
}

// Delete implements [eventstream.Stream]. The conversation is gone when it
// returns; the rows that nobody shares go later, in small steps.
func (s *Store) Delete(ctx context.Context, id event.ConversationID) error {
	return s.queue.do(ctx, func(w *writer) error {
		h, err := w.head(id)
		if err != nil {
			return err
		}
		if err := w.saveTail(h); err != nil {
			return err
		}
		for _, sql := range []string{
			"INSERT OR IGNORE INTO dead (log) SELECT DISTINCT src FROM segments WHERE log = ?",
			"INSERT OR IGNORE INTO dead (log) VALUES (?)",
			"DELETE FROM segments WHERE log = ?",
			"DELETE FROM heads WHERE log = ?",
			"DELETE FROM conversations WHERE log = ?",
		} {
			if _, err := w.c.exec(sql, h.log); err != nil {
				return err
			}
		}
		delete(w.heads, id)
		delete(w.dirty, id)
		w.gone = append(w.gone, id)
		w.reap = true
		return nil
	})
}
