package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Create implements [eventstream.Stream].
func (s *Store) Create(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	return s.create(ctx, &conversation{id: id}, meta, func(pgx.Tx) (source, error) { return source{}, nil })
}

// source is the part that a fork takes over.
type source struct {
	segments []eventstream.Run
	status   string
	cost     float64
}

// Fork implements [eventstream.Stream].
func (s *Store) Fork(ctx context.Context, dst, src event.ConversationID, segments []eventstream.Segment, meta eventstream.Meta) error {
	err := s.create(ctx, &conversation{id: dst}, meta, func(tx pgx.Tx) (from source, err error) {
		// The lock keeps the events from being deleted until the segments are stored.
		err = tx.QueryRow(ctx, "SELECT status, cost FROM conversations WHERE id = $1 FOR UPDATE", encodeText(string(src))).Scan(&from.status, &from.cost)
		if errors.Is(err, pgx.ErrNoRows) {
			return from, notFound(src)
		}
		if err != nil {
			return from, err
		}
		c, err := load(ctx, tx, src)
		if err == nil {
			from.segments, err = eventstream.Share(c.runs(), segments)
		}
		return from, err
	})
	if err != nil {
		return fmt.Errorf("fork conversation %s: %w", src, err)
	}
	return nil
}

const insertConversation = `INSERT INTO conversations
(id, owner, title, status, tags, created_at, updated_at, cost, working_dir, parent_id, fork_of, events, shared, summary_at)
VALUES ($1, $2, $3, $4, $5, coalesce($6, clock_timestamp()), clock_timestamp(), $7, $8, $9, $10, $11, $11, $12)
ON CONFLICT (id) DO NOTHING RETURNING key`

// create stores a conversation that begins with the result of takes.
func (s *Store) create(ctx context.Context, c *conversation, m eventstream.Meta, takes func(pgx.Tx) (source, error)) error {
	tags, err := checkMeta(c.id, m)
	if err != nil {
		return err
	}
	return s.transact(ctx, func(tx pgx.Tx) error {
		from, err := takes(tx)
		if err != nil {
			return err
		}
		if n := len(from.segments); n > 0 {
			c.shared = from.segments[n-1].Last()
		}
		err = tx.QueryRow(ctx, insertConversation, encodeText(string(c.id)), encodeText(m.Owner), encodeText(m.Title), from.status, tags,
			timestamp(m.Created), from.cost, encodeText(m.WorkingDir), encodeText(string(m.Parent)), encodeText(string(m.ForkOf)), c.shared, m.SummaryAt).Scan(&c.key)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Conflict, fmt.Sprintf("conversation %s exists already", c.id))
		}
		if err != nil {
			return err
		}
		var b pgx.Batch
		for _, g := range from.segments {
			b.Queue("INSERT INTO segments (conversation, first, source, source_first, events) VALUES ($1, $2, $3, $4, $5)", c.key, g.First, g.Source, g.SourceFirst, g.Events)
		}
		if m.Summary != nil || m.Extra != nil {
			b.Queue(replaceDocuments, c.key, document(m.Summary), document(m.Extra))
		}
		var n counts
		n.add(encodeText(m.Owner), from.status, m.Parent != "", 1)
		n.queue(&b)
		return tx.SendBatch(ctx, &b).Close()
	})
}

const replaceDocuments = `INSERT INTO documents (conversation, summary, extra) VALUES ($1, $2, $3)
ON CONFLICT (conversation) DO UPDATE SET summary = excluded.summary, extra = excluded.extra`

// kept has the fields that a change of a conversation needs.
type kept struct {
	key                  int64
	owner, status, title string // as stored
	tags                 string
	child                bool
}

// lockRow locks the row of a conversation until the transaction ends. It is refused to a
// process that has lost the lock of the conversation.
func (s *Store) lockRow(ctx context.Context, tx pgx.Tx, id event.ConversationID) (k kept, err error) {
	err = tx.QueryRow(ctx, "SELECT key, owner, status, title, tags, parent_id <> '' FROM conversations WHERE id = $1 FOR UPDATE", encodeText(string(id))).
		Scan(&k.key, &k.owner, &k.status, &k.title, &k.tags, &k.child)
	if errors.Is(err, pgx.ErrNoRows) {
		return k, notFound(id)
	}
	if process := s.locks.holder(id); err == nil && process != 0 {
		var still bool
		err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM locks WHERE conversation = $1 AND process = $2)", encodeText(string(id)), process).Scan(&still)
		if err == nil && !still {
			err = errTakenOver
		}
	}
	return k, err
}

// SetMeta implements [eventstream.Stream].
func (s *Store) SetMeta(ctx context.Context, id event.ConversationID, m eventstream.Meta) error {
	tags, err := checkMeta(id, m)
	if err != nil {
		return err
	}
	return s.transact(ctx, func(tx pgx.Tx) error {
		k, err := s.lockRow(ctx, tx, id)
		if err != nil {
			return err
		}
		owner, title := encodeText(m.Owner), encodeText(m.Title)
		// State that is kept beside the events does not count as a change.
		changed := title != k.title || tags != k.tags || owner != k.owner
		var b pgx.Batch
		b.Queue(`UPDATE conversations SET owner = $2, title = $3, tags = $4, working_dir = $5, parent_id = $6, fork_of = $7, summary_at = $8,
updated_at = CASE WHEN $9 THEN greatest(updated_at, clock_timestamp()) ELSE updated_at END WHERE key = $1`,
			k.key, owner, title, tags, encodeText(m.WorkingDir), encodeText(string(m.Parent)), encodeText(string(m.ForkOf)), m.SummaryAt, changed)
		b.Queue(replaceDocuments, k.key, document(m.Summary), document(m.Extra))
		var n counts
		n.add(k.owner, k.status, k.child, -1)
		n.add(owner, k.status, m.Parent != "", 1)
		n.queue(&b)
		return tx.SendBatch(ctx, &b).Close()
	})
}

// Delete implements [eventstream.Stream].
func (s *Store) Delete(ctx context.Context, id event.ConversationID) error {
	var key int64
	err := s.transact(ctx, func(tx pgx.Tx) error {
		k, err := s.lockRow(ctx, tx, id)
		if err != nil {
			return err
		}
		key = k.key
		var b pgx.Batch
		b.Queue("INSERT INTO deleted (conversation) VALUES ($1)", key)
		b.Queue("DELETE FROM segments WHERE conversation = $1", key)
		b.Queue("DELETE FROM documents WHERE conversation = $1", key)
		b.Queue("DELETE FROM conversations WHERE key = $1", key)
		var n counts
		n.add(k.owner, k.status, k.child, -1)
		n.queue(&b)
		s.notify(&b, []wakeUp{{key: key}})
		return tx.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return err
	}
	s.topics.stale(key)
	// The conversation is deleted; a failure here is repaired when a store is opened.
	if err := s.cleanUp(ctx); err != nil {
		s.log.Warn("delete the events of a deleted conversation", "conversation", id, "err", err)
	}
	return nil
}

// cleanUp deletes the events that no conversation has any more. One process does so at
// a time, so that of two forks that are deleted side by side the last one is noticed.
func (s *Store) cleanUp(ctx context.Context) error {
	return s.transact(ctx, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue("SELECT pg_advisory_xact_lock($1, $2)", int32(s.schema), cleanUpLock)
		b.Queue("DELETE FROM events WHERE conversation IN (SELECT conversation FROM deleted d WHERE NOT EXISTS (SELECT 1 FROM segments g WHERE g.source = d.conversation))")
		b.Queue("DELETE FROM deleted d WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.conversation = d.conversation)")
		return tx.SendBatch(ctx, &b).Close()
	})
}

// transact runs fn in a transaction. It is repeated if the server rolls it back because
// of another one.
func (s *Store) transact(ctx context.Context, fn func(pgx.Tx) error) error {
	for {
		err := pgx.BeginFunc(ctx, s.pool, fn)
		if rolledBack(err) && ctx.Err() == nil {
			continue
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return canceled(ctx.Err())
		}
		if s.ctx.Err() != nil {
			return errClosed
		}
		return storage(err)
	}
}
