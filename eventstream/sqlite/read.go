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
			if !cur.hand(cur.page, yield) {
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
	return view(ctx, cur.s, cur.id, func(db *conn, c *conversation) (bool, error) {
		if cur.key != 0 && c.key != cur.key {
			return false, notFound(cur.id) // deleted, and another one was made under the same id
		}
		cur.key = c.key
		size := 0
		err := c.search(ctx, db, eventstream.Query{}, cur.next, c.events, func(rec eventstream.Record) bool {
			cur.page = append(cur.page, rec)
			cur.next++
			size += len(rec.JSON)
			return len(cur.page) < pageEvents && size < pageBytes
		})
		return cur.next <= c.events, err
	})
}

// hand yields events; false when the caller has enough.
func (cur *cursor) hand(recs []eventstream.Record, yield func(eventstream.Record, error) bool) bool {
	for i := range recs {
		cur.next = recs[i].Seq + 1
		if !yield(recs[i], nil) {
			return false
		}
	}
	return true
}

// Follow implements [eventstream.Stream].
func (s *Store) Follow(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	return func(yield func(eventstream.Record, error) bool) {
		s.topics.join(id)
		defer s.topics.leave(id)
		if err := s.observe(); err != nil {
			yield(eventstream.Record{}, fmt.Errorf("follow conversation %s: %w", id, err))
			return
		}
		cur := cursor{s: s, id: id, next: max(from, 1)}
		for {
			more, err := cur.step(ctx, yield)
			if err != nil {
				yield(eventstream.Record{}, fmt.Errorf("follow conversation %s: %w", id, err))
			}
			if !more || err != nil {
				return
			}
		}
	}
}

// step yields new events, or waits for them. more is false when the caller has
// enough.
func (cur *cursor) step(ctx context.Context, yield func(eventstream.Record, error) bool) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return true, canceled(err)
	}
	recent, current, changed := cur.s.topics.after(cur.id, cur.key, cur.next)
	if len(recent) > 0 {
		return cur.hand(recent, yield), nil
	}
	if !current {
		unread, err := cur.fetch(ctx)
		if !cur.hand(cur.page, yield) {
			return false, nil
		}
		if err != nil || unread {
			return true, err
		}
	}
	select {
	case <-changed:
		return true, nil
	case <-ctx.Done():
		return true, canceled(ctx.Err())
	case <-cur.s.topics.closed:
		return true, errClosed
	}
}
