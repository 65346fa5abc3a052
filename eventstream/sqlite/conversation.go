package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/fault"
)

const maxIDLen = 255

func encodeMeta(id event.ConversationID, m eventstream.Meta) ([]byte, error) {
	if id == "" || len(id) > maxIDLen {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("a conversation id has 1 to %d bytes", maxIDLen))
	}
	raw, err := json.Marshal(m)
	return raw, fault.Wrap(err, fault.Invalid, "encode the conversation's meta data")
}

// Create implements [eventstream.Stream].
func (s *Store) Create(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	raw, err := encodeMeta(id, meta)
	if err != nil {
		return err
	}
	return s.queue.do(ctx, func(w *writer) error { return w.create(id, raw, "", nil) })
}

func (w *writer) create(id event.ConversationID, meta []byte, status string, pieces []piece) error {
	_, taken, err := w.c.number("SELECT 1 FROM conversations WHERE id = ?", string(id))
	if err != nil {
		return err
	}
	if taken {
		return fault.New(fault.Conflict, fmt.Sprintf("conversation %s exists already", id))
	}
	h := head{tail: map[event.ID]eventstream.Seq{}, status: status, pieces: pieces, updated: time.Now().UnixNano()}
	if n := len(pieces); n > 0 {
		h.base = pieces[n-1].end()
		h.events, h.indexed = h.base, h.base
	}
	created := h.updated
	if _, err := w.c.exec("INSERT INTO conversations (id, created, base, pieces, meta, sum) VALUES (?, ?, ?, ?, ?, 0)",
		string(id), created, int64(h.base), int64(len(pieces)), meta); err != nil {
		return err
	}
	if h.log, _, err = w.c.number("SELECT last_insert_rowid()"); err != nil {
		return err
	}
	if _, err := w.c.exec("UPDATE conversations SET sum = ? WHERE log = ?",
		conversationSum(h.log, string(id), created, int64(h.base), int64(len(pieces)), meta), h.log); err != nil {
		return err
	}
	if _, err := w.c.exec("INSERT INTO heads (log, events, indexed, updated, status, sum) VALUES (?, ?, ?, ?, ?, ?)",
		h.log, int64(h.events), int64(h.indexed), h.updated, h.status, h.sum()); err != nil {
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
	raw, err := encodeMeta(id, meta)
	if err != nil {
		return err
	}
	return s.queue.do(ctx, func(w *writer) error {
		h, err := w.head(id)
		if err != nil {
			return err
		}
		created, _, err := w.c.number("SELECT created FROM conversations WHERE log = ?", h.log)
		if err != nil {
			return err
		}
		sum := conversationSum(h.log, string(id), created, int64(h.base), int64(len(h.pieces)), raw)
		if _, err := w.c.exec("UPDATE conversations SET meta = ?, sum = ? WHERE log = ?", raw, sum, h.log); err != nil {
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
