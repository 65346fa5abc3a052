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
			recent, changed := s.topics.after(id, cur.log, cur.next)
			if len(recent) > 0 && ctx.Err() == nil {
				if !cur.take(recent, yield) {
					return
				}
				continue
			}
			more, err := cur.fetch(ctx)
			if !cur.yield(yield) {
				return
			}
			if err == nil && !more {
				err = s.await(ctx, changed)
			}
			if err != nil {
				yield(eventstream.Record{}, fmt.Errorf("follow conversation %s: %w", id, err))
				return
			}
		}
	}
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
