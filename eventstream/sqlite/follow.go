package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

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
func (c *cursor) step(ctx context.Context, yield func(eventstream.Record, error) bool) (more bool, err error) {
	recent, current, changed := c.s.topics.after(c.id, c.key, c.next)
	if len(recent) > 0 {
		if err := ctx.Err(); err != nil {
			return true, canceled(err)
		}
		return c.take(recent, yield), nil
	}
	if !current {
		unread, err := c.fetch(ctx)
		if !c.yield(yield) {
			return false, nil
		}
		if err != nil || unread {
			return true, err
		}
	}
	return true, c.s.await(ctx, changed)
}

func (s *Store) await(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return canceled(ctx.Err())
	case <-s.topics.closed:
		return errClosed
	}
}
