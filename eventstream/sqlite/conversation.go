package sqlite

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Create implements [eventstream.Stream].
func (s *Store) Create(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	m, err := metaColumns(id, meta)
	if err != nil {
		return err
	}
	return s.queue.do(ctx, func(w *writer) error {
		return w.create(&conversation{id: id, meta: m}, meta)
	})
}

// Fork implements [eventstream.Stream].
func (s *Store) Fork(ctx context.Context, dst, src event.ConversationID, segments []eventstream.Segment, meta eventstream.Meta) error {
	m, err := metaColumns(dst, meta)
	if err != nil {
		return err
	}
	err = s.queue.do(ctx, func(w *writer) error {
		c, err := w.conversation(src)
		if err != nil {
			return err
		}
		shared, err := c.share(segments)
		if err != nil {
			return err
		}
		return w.create(&conversation{id: dst, meta: m, status: c.status, cost: c.cost, segments: shared}, meta)
	})
	if err != nil {
		return fmt.Errorf("fork conversation %s: %w", src, err)
	}
	return nil
}

func (w *writer) create(c *conversation, meta eventstream.Meta) error {
	_, taken, err := w.db.number("SELECT 1 FROM conversations WHERE id = ?", string(c.id))
	if err != nil {
		return err
	}
	if taken {
		return fault.New(fault.Conflict, fmt.Sprintf("conversation %s exists already", c.id))
	}
	if n := len(c.segments); n > 0 {
		c.shared = c.segments[n-1].last()
		c.events = c.shared
	}
	c.created, c.updated, c.stored = now(), now(), c.status
	if !meta.Created.IsZero() {
		c.created = meta.Created.UTC().Format(timeFormat)
	}
	m := &c.meta
	if _, err := w.db.exec(`INSERT INTO conversations (id, owner, title, status, tags, created_at, updated_at, cost,
		working_dir, parent_id, fork_of, events, shared, summary_at, checksum, summary_sum, extra_sum, summary, extra) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`,
		string(c.id), m.owner, m.title, c.status, m.tags, c.created, c.updated, c.cost,
		m.workingDir, m.parent, m.forkOf, int64(c.events), int64(c.shared), m.summaryAt, m.summarySum, m.extraSum, document(meta.Summary).arg(), document(meta.Extra).arg()); err != nil {
		return err
	}
	if c.key, _, err = w.db.number("SELECT last_insert_rowid()"); err != nil {
		return err
	}
	if _, err := w.db.exec("UPDATE conversations SET checksum = ? WHERE key = ?", c.checksum(), c.key); err != nil {
		return err
	}
	for _, g := range c.segments {
		if _, err := w.db.exec("INSERT INTO segments (conversation, first, source, source_first, events, checksum) VALUES (?, ?, ?, ?, ?, ?)",
			c.key, int64(g.first), g.source, int64(g.sourceFirst), int64(g.events), g.checksum(c.key)); err != nil {
			return err
		}
	}
	w.cache[c.id] = c
	return nil
}

// SetMeta implements [eventstream.Stream].
func (s *Store) SetMeta(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	m, err := metaColumns(id, meta)
	if err != nil {
		return err
	}
	return s.queue.do(ctx, func(w *writer) error {
		c, err := w.conversation(id)
		if err != nil {
			return err
		}
		if c.meta.title != m.title || c.meta.tags != m.tags || c.meta.owner != m.owner {
			c.touched = true // what is kept of its state beside the events is no change of it
		}
		c.meta = m
		w.changed[id] = c // its other columns are written at the end of the transaction
		_, err = w.db.exec(`UPDATE conversations SET owner = ?, title = ?, tags = ?, working_dir = ?, parent_id = ?, fork_of = ?,
			summary_at = ?, summary_sum = ?, extra_sum = ?, summary = ?, extra = ? WHERE key = ?`,
			m.owner, m.title, m.tags, m.workingDir, m.parent, m.forkOf,
			m.summaryAt, m.summarySum, m.extraSum, document(meta.Summary).arg(), document(meta.Extra).arg(), c.key)
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
			"INSERT OR IGNORE INTO deleted (conversation) SELECT source FROM segments WHERE conversation = ?",
			"INSERT OR IGNORE INTO deleted (conversation) VALUES (?)",
			"DELETE FROM segments WHERE conversation = ?",
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

// inUse selects a row if a conversation exists or a fork shares its events.
const inUse = `SELECT 1 WHERE EXISTS (SELECT 1 FROM conversations WHERE key = ?1)
OR EXISTS (SELECT 1 FROM segments WHERE source = ?1)`

// cleanUp deletes some events that no conversation has any more. It runs
// between the requests of callers and goes on after a restart. A failure
// leaves the rest for the next time: no caller waits for it.
func (w *writer) cleanUp() {
	more := false
	o := &op{done: make(chan struct{}), apply: func(w *writer) error {
		key, found, err := w.db.number("SELECT conversation FROM deleted LIMIT 1")
		if err != nil || !found {
			return err
		}
		more = true
		_, used, err := w.db.number(inUse, key)
		if err != nil {
			return err
		}
		if !used {
			n, err := w.db.exec("DELETE FROM events WHERE rowid IN (SELECT rowid FROM events WHERE conversation = ? LIMIT ?)", key, int64(cleanupStep))
			if err != nil || n == cleanupStep {
				return err
			}
		}
		_, err = w.db.exec("DELETE FROM deleted WHERE conversation = ?", key)
		return err
	}}
	w.commit([]*op{o})
	w.cleaning = more && o.err == nil
}
