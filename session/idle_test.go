package session_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
)

// pausing has sandboxes that can be paused, and records the calls.
type pausing struct {
	mu   sync.Mutex
	done []string
	used bool
	// paused, unless nil, is closed by the first pause.
	paused chan struct{}
}

func (p *pausing) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, what)
}

func (p *pausing) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.done = nil }()
	return p.done
}

func (p *pausing) extend(res session.Resources) session.Resources {
	p.note("start")
	return pausable{res, p}
}

// pausable are resources that a pausing records.
type pausable struct {
	session.Resources
	p *pausing
}

func (r pausable) Close(ctx context.Context, keep bool) error {
	r.p.note(fmt.Sprint("close, keep ", keep))
	return r.Resources.Close(ctx, keep)
}

func (r pausable) Pause(ctx context.Context) (func(context.Context) error, error) {
	r.p.note("pause")
	if r.p.paused != nil {
		close(r.p.paused)
	}
	return func(context.Context) error { r.p.note("stop"); return nil }, r.Resources.Close(ctx, true)
}

func (r pausable) InUse(context.Context) bool {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	return r.p.used
}

func (p *pausing) use(used bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = used
}

// TestPauseIdle: the sandbox of an idle conversation is paused, also if somebody
// watches it, starts again when it is used, and is stopped after long.
func TestPauseIdle(t *testing.T) {
	t.Parallel()
	var p pausing
	h := setup(t, inTurn(says("one"), says("two"), says("three"), says("four")), func(o *session.Options) { o.IdleTTL = time.Hour })
	h.extend = p.extend
	expect := func(when string, want ...string) {
		t.Helper()
		if got := p.take(); !slices.Equal(got, want) {
			t.Fatalf("%s: %q, want %q", when, got, want)
		}
	}
	c := h.begin(t, "")
	send(t, c, "first")
	settle(t, c)
	expect("a first message", "start")
	began := time.Now()
	if next := h.EvictIdle(began.Add(time.Minute)); next.After(began.Add(time.Hour)) {
		t.Errorf("looks again at %s, when it has been idle for longer", next.Sub(began))
	}
	expect("not idle yet")

	stop := c.Watch(func(session.Transient) {})
	p.use(true)
	now := began.Add(2 * time.Hour)
	h.EvictIdle(now)
	expect("a terminal is open")
	p.use(false)
	h.EvictIdle(now)
	expect("it was used until now")
	now = now.Add(2 * time.Hour)
	h.EvictIdle(now)
	expect("idle and watched", "pause")
	if h.get(t, c.ID()) != c {
		t.Error("a conversation that is watched was evicted")
	}
	stop()
	h.EvictIdle(now.Add(time.Hour))
	expect("paused for an hour")
	c = h.get(t, c.ID())
	send(t, c, "second")
	settle(t, c)
	expect("used again", "start")

	now = time.Now().Add(4 * time.Hour)
	h.EvictIdle(now)
	expect("idle again", "pause")
	h.EvictIdle(now.Add(session.DefaultPausedTTL - time.Minute))
	expect("paused for nearly a day")
	h.EvictIdle(now.Add(session.DefaultPausedTTL))
	expect("paused for a day", "stop")
	h.EvictIdle(now.Add(2 * session.DefaultPausedTTL))
	expect("stopped once")

	// So is one that an earlier process has paused, unless it is used.
	end := func(context.Context) error { p.note("stop the earlier one"); return nil }
	h.AddPaused(c.ID(), end)
	h.EvictIdle(now.Add(2 * session.DefaultPausedTTL))
	expect("paused by an earlier process", "stop the earlier one")

	// Who releases the conversation ends it, which is not done again.
	h.AddPaused(c.ID(), end)
	must.Succeed(t, h.Release(t.Context(), c.ID(), func(context.Context) error { p.note("released"); return nil }))
	h.EvictIdle(now.Add(2 * session.DefaultPausedTTL))
	expect("released", "released")
	h.AddPaused(c.ID(), end)

	// Another process that has the conversation has resumed its sandbox.
	send(t, h.get(t, c.ID()), "third")
	settle(t, h.get(t, c.ID()))
	now = time.Now().Add(4 * time.Hour)
	h.EvictIdle(now)
	expect("idle a third time", "start", "pause")
	other := h.another(t)
	defer func() {
		if err := other.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	theirs, err := other.Get(t.Context(), c.ID())
	must.Succeed(t, err)
	send(t, theirs, "fourth")
	settle(t, theirs)
	h.EvictIdle(now.Add(session.DefaultPausedTTL))
	expect("another process uses it", "start")
}

// TestPauseByItself: the manager notices by itself that a conversation is idle.
func TestPauseByItself(t *testing.T) {
	t.Parallel()
	p := pausing{paused: make(chan struct{})}
	h := setup(t, inTurn(says("one")), func(o *session.Options) { o.IdleTTL = 10 * time.Millisecond })
	h.extend = p.extend
	c := h.begin(t, "")
	send(t, c, "first")
	settle(t, c)
	select {
	case <-p.paused:
	case <-t.Context().Done():
		t.Fatal("it was not paused")
	}
}
