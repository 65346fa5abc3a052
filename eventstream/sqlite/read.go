package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/fault"
)

// A page of a read ends after this many events or bytes, which bounds the
// memory of a reader and the time that it keeps a connection.
const (
	pageEvents = 512
	pageBytes  = 1 << 20
)

// Read implements [eventstream.Stream].
func (s *Store) Read(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	return func(yield func(eventstream.Record, error) bool) {
		cur := cursor{s: s, id: id, next: max(from, 1)}
		for {
			ok, err := cur.fetch(ctx)
			if !cur.yield(yield) {
				return
			}
			if err != nil {
				yield(eventstream.Record{}, fmt.Errorf("read conversation %s: %w", id, err))
				return
			}
			if !ok {
				return
			}
		}
	}
}

// cursor is a position in a conversation.
type cursor struct {
	s    *Store
	id   event.ConversationID
	next eventstream.Seq
	log  int64 // of the conversation, once known
	page []eventstream.Record
}

// fetch reads the next page. more is false at the end. An error may come
// with a page: it belongs behind it.
func (c *cursor) fetch(ctx context.Context) (more bool, err error) {
	c.page = c.page[:0]
	err = c.s.pool.read(ctx, func(db *conn) error {
		h, err := loadHead(db, c.id)
		if err != nil {
			return err
		}
		if h == nil || (c.log != 0 && h.log != c.log) {
			return notFound(c.id) // or deleted, and made anew under the same id
		}
		c.log = h.log
		err = c.fill(db, h)
		more = c.next <= h.events
		return err
	})
	return more, err
}

func (c *cursor) fill(db *conn, h *head) error {
	size := 0
	for _, p := range h.cut(c.next, h.events) {
		if len(c.page) >= pageEvents || size >= pageBytes {
			return nil
		}
		n, err := c.fillFrom(db, p, pageBytes-size)
		if err != nil {
			return err
		}
		size += n
	}
	return nil
}

const selectRecords = "SELECT seq, label, ts, id, rec FROM records WHERE log = ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ?"

// fillFrom reads events of one piece until the page is full. It checks that
// each has the number that is due.
func (c *cursor) fillFrom(db *conn, p piece, budget int) (size int, err error) {
	due, limit := p.first, pageEvents-len(c.page)
	r := db.query(selectRecords, p.src, int64(p.first), int64(p.last), int64(limit))
	for n := 0; due <= p.last && n < limit && size < budget && err == nil; n++ {
		if !r.next() {
			break
		}
		rec, why := c.s.scan(db, r, p.src)
		switch {
		case r.err != nil:
		case rec.Seq != due && why == "":
			err = damaged(c.id, c.next, "it is missing")
		case why != "":
			err = damaged(c.id, c.next, why)
		default:
			rec.Seq = c.next
			c.page = append(c.page, rec)
			size += len(rec.JSON)
			due, c.next = due+1, c.next+1
			continue
		}
		break
	}
	stopped := r.err
	full := due > p.last || len(c.page) >= pageEvents || size >= budget
	if closeErr := r.close(); err == nil && (stopped != nil || (closeErr != nil && !full)) {
		err = fault.New(fault.Corrupt, fmt.Sprintf("event %d of conversation %s cannot be read", c.next, c.id)).Hint(salvageHint).Because(closeErr)
	}
	if err == nil && !full {
		err = damaged(c.id, c.next, "it is missing")
	}
	return size, err
}

// scan makes a record of a row of selectRecords.
func (s *Store) scan(db *conn, r *rows, log int64) (eventstream.Record, string) {
	seq, n, ts, id, rec := r.int(0), r.int(1), r.text(2), r.vals[3], r.blob(4)
	l, ok := s.labels.get(n)
	if !ok {
		// Another process may have added it. That it cannot be loaded shows
		// as an unknown kind.
		_ = s.labels.load(db)
		l, ok = s.labels.get(n)
	}
	return unpack(log, eventstream.Seq(seq), l, ok, ts, id, rec)
}

// yield hands out the page; false when the caller has enough.
func (c *cursor) yield(yield func(eventstream.Record, error) bool) bool {
	for i := range c.page {
		if !yield(c.page[i], nil) {
			return false
		}
	}
	return true
}
