package session

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// viewedTTL is how long a conversation without worker is kept.
const viewedTTL = 2 * time.Second

// atOnce is the shortest pause between two evictions: conversations are evicted together.
const atOnce = time.Second

// inUseTimeout is how long a sandbox may take to say whether it is in use.
const inUseTimeout = 5 * time.Second

// manyEvictions is after how many evictions memory is given back at once.
const manyEvictions = 100

// pausedSandbox is the sandbox of an idle conversation.
type pausedSandbox struct {
	since time.Time
	stop  func(context.Context) error
}

// evictLoop evicts conversations when they have been idle for their time. It wakes
// when the first of them may be.
func (m *Manager) evictLoop() {
	due := time.Now().Add(m.o.IdleTTL)
	timer := time.NewTimer(m.o.IdleTTL)
	defer timer.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.loaded:
			if soon := time.Now().Add(min(m.o.IdleTTL, viewedTTL)); soon.Before(due) {
				due = soon
			}
		case now := <-timer.C:
			due = m.evictIdle(now)
		}
		timer.Reset(max(time.Until(due), atOnce))
	}
}

// mayBeIdle wakes evictLoop: a conversation was loaded or is not watched any more.
func (m *Manager) mayBeIdle() {
	select {
	case m.loaded <- struct{}{}:
	default: // it will
	}
}

// AddPaused says that an earlier process has paused the sandbox of a conversation. stop
// is called after the PausedTTL, unless the conversation works until then.
func (m *Manager) AddPaused(id event.ConversationID, stop func(context.Context) error) {
	e := m.hold(id)
	defer func() { m.release(id, e, e.c) }()
	if e.c != nil && e.c.active.Load() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused[id] = pausedSandbox{time.Now(), stop}
}

// notPaused says that the sandbox of a conversation is used again, or gone.
func (m *Manager) notPaused(id event.ConversationID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.paused, id)
}

// pauser returns the resources if their sandbox can be paused, else nil.
func (w *worker) pauser() Pauser {
	p, _ := w.res.(Pauser)
	return p
}

// idleAt is when a conversation will have been idle for its time if nothing uses it
// until then; now is a time before which it cannot be.
func (m *Manager) idleAt(c *Conversation, now time.Time) time.Time {
	ttl := m.o.IdleTTL
	w, watched := c.active.Load(), c.publish.hub.watched()
	last := max(c.use.used.Load(), c.use.ended.Load())
	switch {
	case w == nil && !watched:
		ttl = min(ttl, viewedTTL)
	case w == nil, w.Busy(), w.guests.busy():
		return now.Add(ttl)
	case w.pauser() != nil: // who only watches does not need its sandbox
		last = max(c.use.worked.Load(), c.use.ended.Load())
	case watched:
		return now.Add(ttl)
	}
	return time.Unix(0, last).Add(ttl)
}

// evictIdle evicts conversations that have been idle for their time, and stops
// sandboxes that have been paused for theirs. It returns when the next one may be.
func (m *Manager) evictIdle(now time.Time) (next time.Time) {
	next = now.Add(m.o.IdleTTL)
	gone := 0
	for _, c := range m.all() {
		if !m.idleAt(c, now).After(now) && m.evict(c, now) {
			gone++
			continue
		}
		if at := m.idleAt(c, now); at.Before(next) {
			next = at
		}
	}
	if gone > manyEvictions {
		debug.FreeOSMemory()
	}
	m.mu.Lock()
	paused := maps.Clone(m.paused)
	m.mu.Unlock()
	for id, p := range paused {
		switch at := p.since.Add(m.o.PausedTTL); {
		case !at.After(now):
			m.stopPaused(id)
		case at.Before(next):
			next = at
		}
	}
	return next
}

// evict closes an idle conversation and pauses its sandbox, and reports whether it is
// not loaded any more: one that is watched stays.
func (m *Manager) evict(c *Conversation, now time.Time) bool {
	if w := c.active.Load(); w != nil && w.pauser() != nil {
		ctx, cancel := context.WithTimeout(m.ctx, inUseTimeout)
		used := w.pauser().InUse(ctx)
		cancel()
		if used {
			c.use.worked.Store(now.UnixNano())
			return false
		}
	}
	e := m.hold(c.id)
	kept := e.c
	defer func() { m.release(c.id, e, kept) }()
	if kept != c || m.idleAt(c, now).After(now) {
		return false
	}
	err := c.closeBy(m.ctx, func(w *worker) error {
		p := w.pauser()
		if p == nil {
			return w.closeResources(m.ctx, true)
		}
		stop, err := p.Pause(m.ctx)
		if stop != nil {
			m.mu.Lock()
			m.paused[c.id] = pausedSandbox{now, stop}
			m.mu.Unlock()
		}
		return err
	})
	if errors.Is(err, ErrRunning) { // it is used after all
		return false
	}
	if err != nil {
		m.o.Log.Warn("evict a conversation", "conversation", c.id, "err", err)
	}
	if c.publish.hub.watched() {
		return false
	}
	kept = nil
	return true
}

// stopPaused stops a sandbox that has been paused for long, unless its conversation
// works again.
func (m *Manager) stopPaused(id event.ConversationID) {
	e := m.hold(id)
	defer func() { m.release(id, e, e.c) }()
	m.mu.Lock()
	p, still := m.paused[id]
	delete(m.paused, id)
	m.mu.Unlock()
	if !still {
		return
	}
	unlock, err := m.lock(m.ctx, id)
	if errors.Is(err, ErrLocked) { // another process has resumed it
		return
	}
	if err == nil {
		defer unlock()
		err = p.stop(m.ctx)
	}
	if err != nil {
		m.o.Log.Warn("stop a sandbox that was paused for long", "conversation", id, "err", err, "hint", fault.HintOf(err))
	}
}
