package socket

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

// feed is shared by the followers of one conversation. It exists while it has
// followers.
type feed struct {
	ring  *ring
	refs  int // guarded by Service.mu
	once  sync.Once
	err   error  // of start
	close func() // stops it and waits
}

var errFull = fault.New(fault.RateLimit, "too many connections for this conversation")

// enter returns the feed of a conversation; start makes it for the first follower.
func (s *Service) enter(id event.ConversationID, start func(*ring) (func(), error)) (*feed, error) {
	s.mu.Lock()
	f := s.feeds[id]
	if f == nil {
		f = &feed{ring: newRing()}
		s.feeds[id] = f
	}
	if f.refs >= s.o.MaxFollowers {
		s.mu.Unlock()
		return nil, errFull
	}
	f.refs++
	s.mu.Unlock()
	f.once.Do(func() { f.close, f.err = start(f.ring) })
	if f.err != nil {
		s.exit(id, f)
		return nil, f.err
	}
	return f, nil
}

// exit leaves a feed. The last follower stops it.
func (s *Service) exit(id event.ConversationID, f *feed) {
	s.mu.Lock()
	f.refs--
	last := f.refs == 0
	if last && s.feeds[id] == f {
		delete(s.feeds, id)
	}
	s.mu.Unlock()
	if last && f.close != nil {
		f.close()
	}
}

// follow reads a conversation for a ring until the returned function is
// called.
func (s *Service) follow(c Conversation) func(*ring) (func(), error) {
	return func(r *ring) (func(), error) {
		unwatch := c.Watch(func(tr session.Transient) { s.publish(r, &tr) })
		last, err := c.Stream().Last(s.ctx, c.ID())
		if err != nil {
			unwatch()
			return nil, fmt.Errorf("follow: %w", err)
		}
		r.begin(last)
		ctx, cancel := context.WithCancel(s.ctx)
		var wg sync.WaitGroup
		wg.Go(func() { r.close(s.pump(ctx, c, r, last+1)) })
		return func() {
			unwatch()
			cancel()
			wg.Wait()
		}, nil
	}
}

func (s *Service) publish(r *ring, tr *session.Transient) {
	e, ok, err := entryOf(tr)
	switch {
	case err != nil:
		s.o.Log.Error("a published event could not be encoded", "error", err)
	case ok:
		r.publish(e, tr.After, tr.FullState)
	}
}

// pump copies the stream into the ring until it ends. It skips unreadable events,
// as the reference does.
func (s *Service) pump(ctx context.Context, c Conversation, r *ring, next eventstream.Seq) ending {
	for {
		err := func() error {
			for rec, err := range c.Stream().Follow(ctx, c.ID(), next) {
				if err != nil {
					return err
				}
				r.store(rec)
				next = rec.Seq + 1
			}
			return ctx.Err()
		}()
		if ctx.Err() != nil || !s.unreadable(ctx, c, next, err) {
			return endOf(err)
		}
		r.skip(next)
		next++
	}
}

// unreadable reports whether err concerns one stored event, so that reading can go
// on after it.
func (s *Service) unreadable(ctx context.Context, c Conversation, seq eventstream.Seq, err error) bool {
	if !fault.Is(err, fault.Corrupt) {
		return false
	}
	s.o.Log.Warn("an event cannot be read", "conversation", c.ID(), "seq", seq, "error", err)
	last, err := c.Stream().Last(ctx, c.ID())
	return err == nil && seq <= last
}

// endOf returns the close frame for an error of the stream or of [Options.Find].
func endOf(err error) ending {
	switch {
	case fault.Is(err, fault.NotFound):
		return ending{4004, "Conversation not found"}
	case fault.Is(err, fault.Conflict):
		return ending{4004, "Conversation is owned by another agent server instance"}
	case errors.Is(err, errFull):
		return ending{websocket.StatusTryAgainLater, "Too many connections for this conversation"}
	case fault.Is(err, fault.Canceled):
		return ending{websocket.StatusGoingAway, ""}
	case fault.Is(err, fault.Unavailable), fault.Is(err, fault.RateLimit):
		return ending{websocket.StatusTryAgainLater, "try again later"}
	}
	return ending{websocket.StatusInternalError, "subscribe_failed"}
}
