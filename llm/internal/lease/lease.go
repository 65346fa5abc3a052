// Package lease gets credentials that expire from services over HTTP, and keeps
// them until shortly before they do.
//
// # Usage
//
//	l := lease.New(ask, time.Now)
//	token, err := l.Get(ctx)
//
// # Concurrency
//
// A Lease is safe for concurrent use and starts no goroutine. One call asks at
// a time; the others wait for what it gets, or until their own context ends.
//
// # Failure
//
// Errors are those of the function that asks. While the old credentials are
// still good, a failure to get new ones is no error. [Fetch] and
// [Answer.Refused] give faults of kind Unavailable or Auth.
package lease

import (
	"context"
	"time"
)

// Times of what expires.
const (
	early  = 5 * time.Minute  // new ones are asked for before the old ones expire
	again  = time.Minute      // after an attempt that failed
	margin = 30 * time.Second // a request may travel this long
)

// Ask gets something and says when it expires. What has the zero time is not
// kept.
type Ask[T any] func(ctx context.Context) (T, time.Time, error)

// Lease keeps one thing that expires.
type Lease[T any] struct {
	ask Ask[T]
	now func() time.Time

	turn chan struct{} // holds one item while nobody asks
	// The rest is owned by who holds the turn.
	kept  T
	until time.Time // zero if nothing is kept
	next  time.Time // when to ask
}

// New makes a lease that has nothing yet.
func New[T any](ask Ask[T], now func() time.Time) *Lease[T] {
	l := &Lease[T]{ask: ask, now: now, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// Get returns what is kept, or asks.
func (l *Lease[T]) Get(ctx context.Context) (T, error) {
	var none T
	select {
	case <-l.turn:
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	defer func() { l.turn <- struct{}{} }()
	if !l.until.IsZero() && l.now().Before(l.next) {
		return l.kept, nil
	}
	fresh, until, err := l.ask(ctx)
	now := l.now()
	switch {
	case err != nil && !l.until.IsZero() && now.Before(l.until.Add(-margin)):
		l.next = now.Add(again)
		return l.kept, nil
	case err != nil:
		return none, err
	case until.IsZero():
		l.kept, l.until = none, until
		return fresh, nil
	}
	l.kept, l.until = fresh, until
	l.next = until.Add(-min(early, max(until.Sub(now)/2, 0)))
	return fresh, nil
}
