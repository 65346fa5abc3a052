// Package tokencache keeps credentials that expire until shortly before they do.
//
// # Usage
//
//	c := tokencache.New(fetch, time.Now)
//	token, err := c.Get(ctx)
//
// # Concurrency
//
// A Cache is safe for concurrent use and starts no goroutine. One call fetches
// at a time; the others wait for its result, or until their own context ends.
//
// # Failure
//
// Errors come from the function that fetches. While the old credentials are still
// valid, a failure to fetch new ones is not an error.
package tokencache

import (
	"context"
	"strings"
	"time"
)

const (
	refreshBefore = 5 * time.Minute  // the old credentials expire
	retryAfter    = time.Minute      // a failed attempt
	margin        = 30 * time.Second // that a request may take to arrive
)

// FetchFunc fetches credentials and returns when they expire. Credentials with
// the zero time are not kept.
type FetchFunc[T any] func(ctx context.Context) (T, time.Time, error)

// Cache keeps one set of credentials.
type Cache[T any] struct {
	fetch FetchFunc[T]
	now   func() time.Time

	turn chan struct{} // holds one item while no call fetches
	// The fields below are owned by the call that has taken the turn.
	value   T
	expires time.Time // zero if nothing is kept
	refresh time.Time // when to fetch again
}

// New makes an empty cache.
func New[T any](fetch FetchFunc[T], now func() time.Time) *Cache[T] {
	c := &Cache[T]{fetch: fetch, now: now, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

// Get returns the credentials that are kept, or fetches new ones.
func (c *Cache[T]) Get(ctx context.Context) (T, error) {
	var none T
	select {
	case <-c.turn:
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	defer func() { c.turn <- struct{}{} }()
	if !c.expires.IsZero() && c.now().Before(c.refresh) {
		return c.value, nil
	}
	fresh, expires, err := c.fetch(ctx)
	now := c.now()
	switch {
	case err != nil && !c.expires.IsZero() && now.Before(c.expires.Add(-margin)):
		c.refresh = now.Add(retryAfter)
		return c.value, nil
	case err != nil:
		return none, err
	case expires.IsZero():
		c.value, c.expires = none, expires
		return fresh, nil
	}
	c.value, c.expires = fresh, expires
	c.refresh = expires.Add(-min(refreshBefore, max(expires.Sub(now)/2, 0)))
	return fresh, nil
}

// maxMessage bounds a service's message in an error, in bytes.
const maxMessage = 300

// Line makes text of a service one line of at most 300 bytes.
func Line(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}
