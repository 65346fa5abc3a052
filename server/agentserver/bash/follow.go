package bash

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/deft-dev/deft/fault"
)

// From says where a follower begins.
type From int

// Where a follower can begin.
const (
	FromNow   From = iota // new events only
	FromStart             // stored events first
)

// Follower is a cursor over the events of a service. It is used by one
// goroutine at a time.
type Follower struct {
	s     *Service
	next  uint64
	close sync.Once
}

// Subscribe returns a follower. Unavailable when there are too many.
func (s *Service) Subscribe(from From) (*Follower, error) {
	x, err := s.opened()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followers >= s.o.MaxFollowers {
		return nil, fault.New(fault.Unavailable, "too many bash event connections")
	}
	s.followers++
	f := &Follower{s: s}
	if from == FromNow {
		f.next = x.next
	}
	return f, nil
}

// Close ends the follower.
func (f *Follower) Close() {
	f.close.Do(func() {
		f.s.mu.Lock()
		f.s.followers--
		f.s.mu.Unlock()
	})
}

// Next waits for the next event and returns it as JSON. Unavailable when the
// service was closed; the cause of ctx when that ended. Events that were deleted
// meanwhile are skipped.
func (f *Follower) Next(ctx context.Context) (json.RawMessage, error) {
	for {
		f.s.mu.Lock()
		list, changed := f.s.x.from(f.next), f.s.changed
		f.s.mu.Unlock()
		for _, e := range list {
			f.next = e.seq + 1
			data, err := f.s.read(e)
			if err == nil {
				return data, nil
			}
			f.s.warnUnreadable(e, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-f.s.ctx.Done():
			return nil, fault.New(fault.Unavailable, "the bash service is closed")
		}
	}
}

func (s *Service) followed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.followers > 0
}
