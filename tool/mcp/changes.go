package mcp

import (
	"context"
	"sync/atomic"
)

// changes counts the announcements of one server that its list of tools has changed.
type changes struct {
	announced atomic.Int64  // that were read
	taken     atomic.Int64  // that the SDK has passed on; it answers from no older list then
	relist    chan struct{} // holds one; the list is to be asked for
	listing   chan struct{} // holds one; taken while it is asked for
	listed    atomic.Int64  // how many had been taken when the list in place was asked for
	news      chan struct{} // holds one; taken has grown
}

func newChanges() *changes {
	return &changes{relist: make(chan struct{}, 1), listing: make(chan struct{}, 1), news: make(chan struct{}, 1)}
}

// announce notes an announcement where it was read.
func (c *changes) announce() { c.announced.Add(1) }

// take notes an announcement that the SDK has passed on. read says that announce has noted it.
func (c *changes) take(read bool) {
	if !read {
		c.announced.Add(1)
	}
	c.taken.Add(1)
	for _, to := range []chan struct{}{c.news, c.relist} {
		select {
		case to <- struct{}{}:
		default: // it is noted already
		}
	}
}

// renew begins with another session: the SDK passes on nothing of the former one.
func (c *changes) renew() {
	if n := c.announced.Load(); c.taken.Load() < n {
		c.announced.Store(n - 1)
		c.taken.Store(n - 1)
		c.take(false)
	}
}

// settle waits until the list of every announcement so far is in place, so that the next step of
// the agent has these tools. refresh puts the list in place.
func (c *changes) settle(ctx context.Context, over <-chan struct{}, refresh func() bool) {
	want := c.announced.Load()
	for c.listed.Load() < want {
		if c.taken.Load() < want {
			select {
			case <-c.news:
				continue
			case <-over:
				return
			case <-ctx.Done():
				return
			}
		}
		if !c.update(ctx, want, refresh) {
			return
		}
	}
}

// update puts the list of at least the first want announcements in place; false if that ended
// before it was done.
func (c *changes) update(ctx context.Context, want int64, refresh func() bool) bool {
	select {
	case c.listing <- struct{}{}:
		defer func() { <-c.listing }()
	case <-ctx.Done():
		return false
	}
	if c.listed.Load() >= want {
		return true
	}
	n := c.taken.Load()
	done := refresh()
	if done {
		c.listed.Store(n)
	}
	return done
}
