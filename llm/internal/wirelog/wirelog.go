// Package wirelog keeps the encoded form of the histories that adapters send,
// so that a call encodes only the messages that are new since the call before.
//
// # Usage
//
//	cache := wirelog.New[state](wirelog.Shared)
//	body, end, err := cache.Append(body, r.Session, "", msgs, m.write)
//
// The adapter's writer appends one message; what it has to remember from one
// message to the next (an open array, a role) is a value S. Messages are
// compared by what they hold, so a caller may build its history anew for each
// call, and a condensed, forked or marked history is encoded again from the
// first message that differs.
//
// # Concurrency and failure
//
// A Cache is safe for concurrent use; of two calls of one session at the same
// time, one works without the cache. Memory is bounded for the whole process: the
// sessions used longest ago are forgotten, whichever model they belong to. An error of the writer is returned as it is, and
// nothing of that call is kept.
package wirelog

import (
	"slices"

	"github.com/deft-dev/deft/event"
)

// perMessage is about what a message costs besides its encoded bytes.
const perMessage = 320

// Writer appends the encoded form of m to dst, which ends with the messages
// before it, and returns the state after it. It must depend on nothing else.
type Writer[S any] func(dst []byte, s S, m *event.Message) ([]byte, S, error)

// Cache holds the encoded histories of one model's sessions.
type Cache[S any] struct {
	pool *Pool
	logs map[string]*history[S] // by session; under the pool's lock
}

// New makes a cache in a pool, [Shared] outside of tests.
func New[S any](p *Pool) *Cache[S] {
	return &Cache[S]{pool: p, logs: map[string]*history[S]{}}
}

// history is one session's messages as they were sent last.
type history[S any] struct {
	session, variant string
	buf              []byte
	steps            []step[S]
}

// step is a message, and where the log stood after it.
type step[S any] struct {
	msg   event.Message // a copy that nobody else changes
	end   int
	state S
}

// Append appends all messages to dst. variant names what else the writer
// depends on, such as a limit that changed; a history of another variant is
// written anew. Without a session nothing is kept.
func (c *Cache[S]) Append(dst []byte, session, variant string, msgs []event.Message, write Writer[S]) ([]byte, S, error) {
	var state S
	var err error
	if session == "" {
		dst = slices.Grow(dst, room(msgs))
		for i := range msgs {
			if dst, state, err = write(dst, state, &msgs[i]); err != nil {
				return dst, state, err
			}
		}
		return dst, state, nil
	}
	h := c.take(session)
	if h == nil || h.variant != variant {
		h = &history[S]{session: session, variant: variant}
	}
	if state, err = h.extend(msgs, write); err != nil {
		return dst, state, err
	}
	dst = append(slices.Grow(dst, len(h.buf)+256), h.buf...) // and what closes it
	c.put(h)
	return dst, state, nil
}

// extend makes h the history of msgs.
func (h *history[S]) extend(msgs []event.Message, write Writer[S]) (S, error) {
	n := 0
	for n < len(h.steps) && n < len(msgs) && same(&h.steps[n].msg, &msgs[n]) {
		n++
	}
	clear(h.steps[n:])
	h.steps = h.steps[:n]
	var state S
	end := 0
	if n > 0 {
		state, end = h.steps[n-1].state, h.steps[n-1].end
	}
	h.buf = slices.Grow(h.buf[:end], room(msgs[n:]))
	for i := n; i < len(msgs); i++ {
		var err error
		if h.buf, state, err = write(h.buf, state, &msgs[i]); err != nil {
			return state, err
		}
		h.steps = append(h.steps, step[S]{snapshot(&msgs[i]), len(h.buf), state})
	}
	return state, nil
}

// room estimates how many bytes the encoded messages take.
func room(msgs []event.Message) int {
	n := 0
	for i := range msgs {
		m := &msgs[i]
		n += 128 + len(m.ReasoningContent)
		for k := range m.Content {
			n += 32 + len(m.Content[k].Text)*17/16
			for _, u := range m.Content[k].ImageURLs {
				n += 64 + len(u)
			}
		}
		for k := range m.ToolCalls {
			n += 96 + len(m.ToolCalls[k].Arguments)*5/4
		}
	}
	return n
}

func (h *history[S]) cost() int { return cap(h.buf) + perMessage*cap(h.steps) }

// take removes the session's history, so that it is the caller's alone.
func (c *Cache[S]) take(session string) *history[S] {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	h := c.logs[session]
	if h != nil {
		c.pool.remove(h)
		delete(c.logs, session)
	}
	return h
}

func (c *Cache[S]) put(h *history[S]) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if other := c.logs[h.session]; other != nil { // of a call at the same time
		c.pool.remove(other)
	}
	c.logs[h.session] = h
	c.pool.add(h, h.cost(), func() { delete(c.logs, h.session) })
}
