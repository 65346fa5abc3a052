package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// A page of a read ends after this many events or bytes, which bounds the memory of a
// reader and of the server.
const (
	pageEvents = 512
	pageBytes  = 1 << 20
)

// page is the result of one read.
type page struct {
	recs []eventstream.Record
	last eventstream.Seq // of the conversation when it was read
}

// Read implements [eventstream.Stream].
func (s *Store) Read(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	return func(yield func(eventstream.Record, error) bool) {
		next := max(from, 1)
		c, err := s.open(ctx, id, 0)
		for err == nil {
			var p page
			err = s.again(ctx, 0, func() (err error) {
				p, err = s.fetch(ctx, c, next)
				return err
			})
			for _, r := range p.recs {
				if !yield(r, nil) {
					return
				}
				next = r.Seq + 1
			}
			if err == nil && next > p.last {
				return
			}
		}
		yield(eventstream.Record{}, fmt.Errorf("read conversation %s: %w", id, err))
	}
}

// open finds a conversation that is to be read, and waits so long for the server.
func (s *Store) open(ctx context.Context, id event.ConversationID, wait time.Duration) (c *conversation, err error) {
	err = s.again(ctx, wait, func() error {
		c, err = load(ctx, s.pool, id)
		return s.failed(ctx, err)
	})
	return c, err
}

// How often at least, and at first how soon, a read is tried again that has lost its connection.
const (
	readTries = 5
	readPause = 50 * time.Millisecond
)

// again reads again when the connection was lost: connections of the pool end when the
// server is started anew, and the pool does not notice at once. It goes on for the time of wait.
func (s *Store) again(ctx context.Context, wait time.Duration, read func() error) error {
	pause := readPause
	start := time.Now()
	for tries := 1; ; tries++ {
		err := read()
		if !fault.Is(err, fault.Unavailable) || tries >= readTries && time.Since(start) >= wait {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return canceled(ctx.Err())
		case <-s.ctx.Done():
			timer.Stop()
			return errClosed
		}
		pause = min(2*pause, retryPauseMax)
	}
}

// failed gives an error of a read its kind.
func (s *Store) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case s.ctx.Err() != nil:
		return errClosed
	case ctx.Err() != nil:
		return canceled(ctx.Err())
	}
	return storage(err)
}

// fetch reads the page that begins with an event. An error may come with a page: it
// belongs behind it. NotFound if the conversation was deleted.
func (s *Store) fetch(ctx context.Context, c *conversation, next eventstream.Seq) (p page, err error) {
	p.last, err = s.lastOf(ctx, c)
	if err != nil {
		return p, s.failed(ctx, err)
	}
	now := *c
	now.events, next = p.last, max(next, 1)
	size := 0
	err = s.scan(ctx, &now, eventstream.Query{}, next, p.last, pageEvents, func(r eventstream.Record) bool {
		if r.Seq != next {
			return false
		}
		p.recs = append(p.recs, r)
		next++
		size += len(r.JSON)
		return len(p.recs) < pageEvents && size < pageBytes
	})
	if err == nil && next <= p.last && len(p.recs) < pageEvents && size < pageBytes {
		if _, err = s.lastOf(ctx, c); err == nil { // or it was deleted meanwhile
			err = missing(c.id, next)
		}
	}
	return p, s.failed(ctx, err)
}

// lastOf returns the last event of a conversation that was loaded before. NotFound if it
// was deleted.
func (s *Store) lastOf(ctx context.Context, c *conversation) (last eventstream.Seq, err error) {
	err = s.pool.QueryRow(ctx, "SELECT events FROM conversations WHERE key = $1", c.key).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, notFound(c.id)
	}
	return last, err
}

// Follow implements [eventstream.Stream].
func (s *Store) Follow(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	return func(yield func(eventstream.Record, error) bool) {
		if err := s.follow(ctx, id, max(from, 1), yield); err != nil {
			yield(eventstream.Record{}, fmt.Errorf("follow conversation %s: %w", id, err))
		}
	}
}

// follow yields events until the caller has enough, which is no error.
func (s *Store) follow(ctx context.Context, id event.ConversationID, next eventstream.Seq, yield func(eventstream.Record, error) bool) error {
	c, err := s.open(ctx, id, retryTime)
	if err != nil {
		return err
	}
	s.startListening()
	s.topics.join(c.key)
	defer s.topics.leave(c.key)
	for {
		if ctx.Err() != nil {
			return canceled(ctx.Err())
		}
		recs, current, changed := s.topics.after(c.key, next)
		if len(recs) == 0 && !current {
			if recs, err = s.readShared(ctx, c, next, changed); err != nil {
				return err
			}
		}
		for _, r := range recs {
			if !yield(r, nil) {
				return nil
			}
			next = r.Seq + 1
		}
		if len(recs) > 0 || !current {
			continue
		}
		if err := s.await(ctx, changed); err != nil {
			return err
		}
	}
}

// await waits for a change.
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

// readShared reads a page together with the other followers that need it. It returns
// nothing if another try is due: after a change, or when the server is back.
func (s *Store) readShared(ctx context.Context, c *conversation, next eventstream.Seq, changed <-chan struct{}) ([]eventstream.Record, error) {
	r, mine := s.topics.read(c.key, next)
	if mine {
		r.page, r.err = s.fetch(ctx, c, next)
		s.topics.finish(c.key, next, r)
	} else if err := s.await(ctx, r.done); err != nil {
		return nil, err
	}
	switch {
	case r.err == nil:
		return r.page.recs, nil
	case len(r.page.recs) > 0:
		return r.page.recs, nil // the error comes again behind them
	case fault.Is(r.err, fault.Canceled) && !mine:
		return nil, nil
	case !fault.Is(r.err, fault.Unavailable):
		return nil, r.err
	}
	// The listener wakes all followers when it is connected again. If its connection was
	// not lost, another try is due soon.
	timer := time.NewTimer(retryPauseMax)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, nil
	case <-changed:
		return nil, nil
	case <-ctx.Done():
		return nil, canceled(ctx.Err())
	case <-s.topics.closed:
		return nil, errClosed
	}
}
