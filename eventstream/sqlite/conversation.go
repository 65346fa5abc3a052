package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Create implements [eventstream.Stream].
func (s *Store) Create(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	m, err := newMetaRow(id, meta)
	if err != nil {
		return err
	}
	return s.queue.do(ctx, func(w *writer) error { return w.create(&conversation{id: id, metaRow: m}, meta) })
}

// Fork implements [eventstream.Stream].
func (s *Store) Fork(ctx context.Context, dst, src event.ConversationID, segments []eventstream.Segment, meta eventstream.Meta) error {
	m, err := newMetaRow(dst, meta)
	if err != nil {
		return err
	}
	err = s.queue.do(ctx, func(w *writer) error {
		c, err := w.conversation(src)
		if err != nil {
			return err
		}
		shared, err := eventstream.Share(c.runs(), segments)
		if err != nil {
			return err
		}
		return w.create(&conversation{id: dst, metaRow: m, status: c.status, cost: c.cost, segments: shared}, meta)
	})
	if err != nil {
		return fmt.Errorf("fork conversation %s: %w", src, err)
	}
	return nil
}

func (w *writer) create(c *conversation, meta eventstream.Meta) error {
	if n := len(c.segments); n > 0 {
		c.shared = c.segments[n-1].Last()
		c.events = c.shared
	}
	c.created, c.updated, c.stored = now(), now(), c.status
	if !meta.Created.IsZero() {
		c.created = meta.Created.UTC().Format(timeFormat)
	}
	last, _, err := w.db.number("SELECT seq FROM sqlite_sequence WHERE name = 'conversations'")
	if err != nil {
		return err
	}
	c.key = last + 1
	row := c.values()
	n, err := w.db.exec(insertConversation, append(row, int64(checksum(0, row...)))...)
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.Conflict, fmt.Sprintf("conversation %s exists already", c.id))
	}
	if meta.Summary != nil || meta.Extra != nil {
		if _, err := w.db.exec(replaceDocuments, c.key, document(meta.Summary), document(meta.Extra)); err != nil {
			return err
		}
	}
	for _, g := range c.segments {
		if _, err := w.db.exec("INSERT INTO segments (conversation, first, source, source_first, events, checksum) VALUES (?, ?, ?, ?, ?, ?)",
			append(rowOf(g, c.key), sumOf(g, c.key))...); err != nil {
			return err
		}
	}
	w.cache[c.id] = c
	return nil
}

// SetMeta implements [eventstream.Stream].
func (s *Store) SetMeta(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	m, err := newMetaRow(id, meta)
	if err != nil {
		return err
	}
	return s.queue.do(ctx, func(w *writer) error {
		c, err := w.conversation(id)
		if err != nil {
			return err
		}
		if c.Title != m.Title || c.tags != m.tags || c.Owner != m.Owner {
			c.touched = true // state that is kept beside the events does not count as a change
		}
		c.metaRow = m
		w.changed[id] = c // its other columns are written at the end of the transaction
		_, err = w.db.exec("UPDATE conversations SET ("+metaColumns+") = (?"+strings.Repeat(", ?", 8)+") WHERE key = ?", append(c.values()[2:11], c.key)...)
		if err == nil {
			_, err = w.db.exec(replaceDocuments, c.key, document(meta.Summary), document(meta.Extra))
		}
		return err
	})
}

// Delete implements [eventstream.Stream]. The conversation is gone when it
// returns; its events are deleted later, in small steps.
func (s *Store) Delete(ctx context.Context, id event.ConversationID) error {
	return s.queue.do(ctx, func(w *writer) error {
		c, err := w.conversation(id)
		if err != nil {
			return err
		}
		for _, sql := range []string{
			"INSERT INTO deleted (conversation) VALUES (?)",
			"DELETE FROM segments WHERE conversation = ?",
			"DELETE FROM documents WHERE conversation = ?",
			"DELETE FROM conversations WHERE key = ?",
		} {
			if _, err := w.db.exec(sql, c.key); err != nil {
				return err
			}
		}
		delete(w.cache, id)
		delete(w.changed, id)
		w.removed = append(w.removed, id)
		w.cleaning = true
		return nil
	})
}

// cleanupStep is how many events one transaction of the clean-up deletes: few
// enough that an Append that comes in meanwhile hardly notices.
const cleanupStep = 100

// unused selects a deleted conversation whose events no fork shares. The others stay in the
// table, which tells them from conversations whose rows are lost: see [Salvage].
const unused = "SELECT conversation FROM deleted d WHERE NOT EXISTS (SELECT 1 FROM segments WHERE source = d.conversation) LIMIT 1"

// cleanUp deletes some events that no conversation has any more. It runs
// between the requests of callers and goes on after a restart. A failure
// leaves the rest for the next time: no caller waits for it.
func (w *writer) cleanUp() {
	more := false
	o := &op{done: make(chan struct{}), apply: func(w *writer) error {
		key, found, err := w.db.number(unused)
		if err != nil || !found {
			return err
		}
		more = true
		n, err := w.db.exec("DELETE FROM events WHERE rowid IN (SELECT rowid FROM events WHERE conversation = ? LIMIT ?)", key, int64(cleanupStep))
		if err != nil || n == cleanupStep {
			return err
		}
		_, err = w.db.exec("DELETE FROM deleted WHERE conversation = ?", key)
		return err
	}}
	w.commit([]*op{o})
	w.cleaning = more && o.err == nil
}
