// Package historycache keeps the encoded form of the histories that adapters
// send, so that each call encodes only the new messages.
//
// # Usage
//
//	cache := historycache.New[state](historycache.Shared)
//	body, end, err := cache.Encode(ctx, r.Session, "", msgs, m.write)
//	body[0] = head
//	body = append(body, end.tail())
//
// The adapter's writer appends one message; its state between messages (an open
// array, a role, a number of marks) is a value S. A body is a list of parts. The
// parts of the history belong to the cache, so that a long history is neither
// copied nor written twice.
//
// A writer for a protocol with a separate system prompt and alternating turns
// keeps [Turns] in its state.
//
// Messages are compared by content, so a caller may build its history again for
// each call. A condensed, forked or differently marked history is encoded again
// from the first message that differs. Messages declared fixed (llm.Growth) are
// not compared.
//
// # Concurrency and failure
//
// A Cache is safe for concurrent use; of two concurrent calls of one session,
// one works without the cache. Memory is limited for the whole process: the
// least recently used sessions of all models are evicted. An error of the
// writer is returned unchanged, and nothing of that call is kept.
package historycache

import (
	"context"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// perMessage is the approximate memory of a message besides its encoded bytes.
const perMessage = 320

// Writer appends the encoded form of m to dst and returns the state after it.
// dst may end with the previous message, or be empty. The result must depend
// only on s and m.
type Writer[S any] func(dst []byte, s S, m *event.Message) ([]byte, S, error)

// Cache has the encoded histories of one model's sessions.
type Cache[S any] struct {
	pool *Pool
	logs map[string]*history[S] // by session; under the pool's lock
}

// New returns a cache in a pool, which is [Shared] outside of tests.
func New[S any](p *Pool) *Cache[S] {
	return &Cache[S]{pool: p, logs: map[string]*history[S]{}}
}

// history has one session's messages as last sent.
type history[S any] struct {
	session, variant string
	text             text
	steps            []step[S]
	array            uint64 // of which the first fixed messages are; see llm.Fixed
	fixed            int
}

// step is a message, and the position of the text after it.
type step[S any] struct {
	msg   *event.Message // immutable: a copy, or a fixed message
	end   int
	state S
}

// Encode returns all messages as the parts of a body, and the state after them.
// The first part is empty, for the text before the history; the others must not
// be changed. variant names everything else that the writer depends on, such as
// a limit; a history of another variant is encoded again. Without a session
// nothing is kept.
func (c *Cache[S]) Encode(ctx context.Context, session, variant string, msgs []event.Message, write Writer[S]) ([][]byte, S, error) {
	var state S
	var err error
	if session == "" {
		var once text
		for i := range msgs {
			if state, err = add(&once, msgs[i:], state, write); err != nil {
				return nil, state, err
			}
		}
		return once.parts(), state, nil
	}
	h := c.take(session)
	if h == nil || h.variant != variant {
		h = &history[S]{session: session, variant: variant}
	}
	array, fixed := llm.Fixed(ctx, msgs)
	if state, err = h.extend(msgs, array, fixed, write); err != nil {
		return nil, state, err
	}
	body := h.text.parts()
	c.put(h)
	return body, state, nil
}

// add writes the first of msgs.
func add[S any](t *text, msgs []event.Message, state S, write Writer[S]) (S, error) {
	dst, err := t.begin(msgs), error(nil)
	if dst, state, err = write(dst, state, &msgs[0]); err == nil {
		t.done(dst)
	}
	return state, err
}

// extend makes h the history of msgs, the first of which are fixed in an array.
func (h *history[S]) extend(msgs []event.Message, array uint64, fixed int, write Writer[S]) (S, error) {
	n := 0
	if array != 0 && array == h.array {
		n = min(h.fixed, fixed, len(h.steps))
	}
	known := n
	for n < len(h.steps) && n < len(msgs) && same(h.steps[n].msg, &msgs[n]) {
		n++
	}
	for i := known; i < min(n, fixed); i++ {
		h.steps[i].msg = &msgs[i] // releases the old array
	}
	h.array, h.fixed = array, fixed
	clear(h.steps[n:])
	h.steps = h.steps[:n]
	var state S
	end := 0
	if n > 0 {
		state, end = h.steps[n-1].state, h.steps[n-1].end
	}
	h.text.cut(end)
	if more := len(msgs) - n; cap(h.steps)-n < more {
		h.steps = slices.Grow(h.steps, more+n/8)
	}
	for i := n; i < len(msgs); i++ {
		var err error
		if state, err = add(&h.text, msgs[i:], state, write); err != nil {
			return state, err
		}
		m := &msgs[i]
		if i >= fixed {
			m = snapshot(m)
		}
		h.steps = append(h.steps, step[S]{m, h.text.size, state})
	}
	return state, nil
}

func (h *history[S]) cost() int { return h.text.held() + perMessage*cap(h.steps) }

// take removes the session's history from the cache for exclusive use.
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
	if other := c.logs[h.session]; other != nil { // of a concurrent call
		c.pool.remove(other)
	}
	c.logs[h.session] = h
	c.pool.add(h, h.cost(), func() { delete(c.logs, h.session) })
}
