package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
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

// fill reads events until the page is full. What cannot be read ends it.
func (c *cursor) fill(db *conn, h *head) error {
	f := newFetcher(db, c.s.labels)
	size := 0
	var items []item
	full := func() bool { return len(c.page) >= pageEvents || size >= pageBytes }
	for _, p := range h.cut(c.next, h.events) {
		why := ""
		err := h.walk(db, p, false, func(r run) (bool, error) {
			items = r.items(items[:0])
			_, bad, err := f.fetch(r.src, items, func(rec eventstream.Record) bool {
				rec.Seq = c.next
				c.page = append(c.page, rec)
				c.next++
				size += len(rec.JSON)
				return !full()
			})
			why = bad
			return why == "" && !full(), err
		})
		closeErr := f.close()
		switch {
		case full():
			return nil
		case why != "":
			return damaged(c.id, c.next, why)
		case err == nil:
			err = closeErr
		}
		if err != nil {
			return unreadable(c.id, c.next, err)
		}
	}
	return nil
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

// take hands out events that are in memory.
func (c *cursor) take(recs []eventstream.Record, yield func(eventstream.Record, error) bool) bool {
	for i := range recs {
		c.next = recs[i].Seq + 1
		if !yield(recs[i], nil) {
			return false
		}
	}
	return true
}
