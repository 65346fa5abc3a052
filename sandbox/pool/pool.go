// Package pool keeps sandboxes ready, so that one can be claimed in milliseconds.
//
// # Usage
//
//	p := pool.New(pool.Options{Maker: m, Log: log})
//	p.Configure(map[pool.Class]pool.Size{class: {Ready: 5}})
//	if member, ok := p.Claim(class); ok { … } // else start one
//	p.Close(ctx)
//
// A member has held nothing of anybody: its program, its keys and its environment come
// with the claim (see sandbox/bootstrap). It is never given back.
//
// # Refilling
//
// Claimed members are replaced in the background, a few at a time, and only once claims
// have paused for a moment, or last for a second: starts would take the processors from
// those who wait. A class whose starts fail is tried again after a growing delay. Members are checked at
// intervals, replaced when they are old, and removed when their class has changed.
//
// # Concurrency and failure
//
// A Pool is safe for concurrent use. A member has one owner at most. Failures in the
// background are logged and counted; a claim then finds nothing.
package pool

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// Class describes sandboxes of one sort: two members of a class can stand in for each
// other. The value is the Maker's.
type Class string

// Size is how many members of a class are kept, and how.
type Size struct {
	// Ready is how many wait.
	Ready int
	// MaxAge is when a member is replaced; default DefaultMaxAge.
	MaxAge time.Duration
}

// Defaults.
const (
	DefaultMaxAge   = time.Hour
	DefaultParallel = 2
	DefaultInterval = 15 * time.Second
)

const (
	quiet       = 50 * time.Millisecond // without a claim, before members are made
	longestWait = time.Second           // for that
	firstDelay  = time.Second           // after a failure
	longest     = time.Minute           // of such delays
	checkTime   = 5 * time.Second       // for a member to answer
	discardTime = 30 * time.Second      // for one to be removed
)

// Member is a sandbox that waits.
type Member struct {
	// ID is its sandbox's.
	ID string
	// Made is when it was ready.
	Made time.Time
	// Ended is closed when it has ended.
	Ended <-chan struct{}
}

// Maker makes members.
type Maker interface {
	// Make starts a sandbox that waits.
	Make(ctx context.Context, c Class) (Member, error)
	// Check returns why a member cannot be claimed.
	Check(ctx context.Context, m Member) error
	// Discard removes a member that will not be claimed.
	Discard(ctx context.Context, m Member) error
}

// Options configure a Pool.
type Options struct {
	Maker Maker
	// Parallel is how many members are made at a time; default DefaultParallel.
	Parallel int
	// Interval is between two checks of all members; default DefaultInterval.
	Interval time.Duration
	Log      *slog.Logger
}

// Pool keeps members of its classes.
type Pool struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{}

	mu       sync.Mutex
	classes  map[Class]*class
	claimed  time.Time // the last claim
	holds    int
	deferred time.Time // since when refilling waits; zero if it does not
	closed   bool
}

type class struct {
	size    Size
	ready   []Member // oldest first
	making  int
	retry   time.Time // no start before
	delay   time.Duration
	metrics Metrics
}

// New returns a Pool without classes. The caller closes it.
func New(o Options) *Pool {
	if o.Parallel <= 0 {
		o.Parallel = DefaultParallel
	}
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	p := &Pool{o: o, wake: make(chan struct{}, 1), classes: map[Class]*class{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.wg.Go(p.maintain)
	return p
}

// Configure sets the classes and their sizes. Members of classes that are gone, and
// those that are too many, are removed.
func (p *Pool) Configure(sizes map[Class]Size) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for name, c := range p.classes {
		if _, ok := sizes[name]; !ok {
			c.size.Ready = 0
			p.discard(c.ready...)
			c.ready = nil
		}
	}
	for name, s := range sizes {
		if s.MaxAge <= 0 {
			s.MaxAge = DefaultMaxAge
		}
		c := p.classes[name]
		if c == nil {
			c = &class{}
			p.classes[name] = c
		}
		c.size = s
		if extra := len(c.ready) - s.Ready; extra > 0 {
			p.discard(c.ready[:extra]...)
			c.ready = append([]Member(nil), c.ready[extra:]...)
		}
	}
	p.signal()
}

// Claim takes a member, if one is ready. It is the caller's from then on.
func (p *Pool) Claim(name Class) (Member, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.classes[name]
	if c == nil || c.size.Ready == 0 {
		return Member{}, false
	}
	now := time.Now()
	p.claimed = now
	defer p.signal()
	for len(c.ready) > 0 {
		m := c.ready[0]
		c.ready = c.ready[1:]
		select {
		case <-m.Ended:
			c.metrics.Failed++
			p.discard(m)
			continue
		default:
		}
		if now.Sub(m.Made) >= c.size.MaxAge {
			c.metrics.Expired++
			p.discard(m)
			continue
		}
		c.metrics.Hits++
		return m, true
	}
	c.metrics.Misses++
	return Member{}, false
}

// Hold keeps the pool from starting members until release is called, though for a second
// at most: while somebody waits for a claimed member to get ready.
func (p *Pool) Hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.holds--
		p.signal()
	}
}

// Close removes all members and waits until they are gone.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.classes {
		p.discard(c.ready...)
		c.ready = nil
	}
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
}

// discard removes members in the background. The caller holds mu.
func (p *Pool) discard(members ...Member) {
	for _, m := range members {
		p.wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), discardTime)
			defer cancel()
			if err := p.o.Maker.Discard(ctx, m); err != nil {
				p.o.Log.Warn("a sandbox of the pool cannot be removed", "sandbox", m.ID, "err", err)
			}
		})
	}
}

func (p *Pool) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
