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
			more, err := cur.fetch(ctx)
			if !cur.yield(yield) {
				return
			}
			if err != nil {
				yield(eventstream.Record{}, fmt.Errorf("read conversation %s: %w", id, err))
				return
			}
			if !more {
				return
			}
		}
	}
}

// cursor is a position in a conversation.
type cursor struct {
	s    *Store
	id   event.ConversationID
	key  int64 // of the conversation, once it was found
	next eventstream.Seq
	page []eventstream.Record
}

// fetch reads the next page. more is false at the end. An error may come with
// a page: it belongs behind it.
func (cur *cursor) fetch(ctx context.Context) (more bool, err error) {
	cur.page = cur.page[:0]
	err = cur.s.pool.read(ctx, func(db *conn) error {
		c, err := load(db, cur.id)
		if err != nil {
			return err
		}
		if cur.key != 0 && c.key != cur.key {
			return notFound(cur.id) // deleted, and another one was made under the same id
		}
		cur.key = c.key
		err = cur.fill(db, c)
		more = cur.next <= c.events
		return err
	})
	return more, err
}

// fill reads events until the page is full. What cannot be read ends it.
func (cur *cursor) fill(db *conn, c *conversation) error {
	size := 0
	for _, g := range c.parts(cur.next, c.events) {
		r := db.query(selectEvents+inSegment+" ORDER BY e.seq", g.args(nil)...)
		why := ""
		for r.next() {
			_, rec, intact := scanEvent(r)
			switch want := g.sourceFirst + cur.next - g.first; {
			case rec.Seq != want && r.err == nil:
				why = missing
			case !intact:
				why = mismatch
			}
			if why != "" {
				break
			}
			rec.Seq = cur.next
			cur.page = append(cur.page, rec)
			cur.next++
			if size += len(rec.JSON); len(cur.page) >= pageEvents || size >= pageBytes {
				return r.close()
			}
		}
		err := r.close()
		if err == nil && why == "" && cur.next <= g.last() {
			why = missing
		}
		switch {
		case why != "":
			return damaged(c.id, cur.next, why)
		case err != nil:
			return unreadable(c.id, cur.next, err)
		}
	}
	return nil
}

// yield hands out the page; false when the caller has enough.
func (cur *cursor) yield(yield func(eventstream.Record, error) bool) bool {
	for i := range cur.page {
		if !yield(cur.page[i], nil) {
			return false
		}
	}
	return true
}

// take hands out events that are in memory.
func (cur *cursor) take(recs []eventstream.Record, yield func(eventstream.Record, error) bool) bool {
	for i := range recs {
		cur.next = recs[i].Seq + 1
		if !yield(recs[i], nil) {
			return false
		}
	}
	return true
}
