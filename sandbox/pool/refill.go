package pool

import (
	"context"
	"slices"
	"time"
)

// maintain refills the classes when something has changed, and checks the members at
// intervals.
func (p *Pool) maintain() {
	check := time.NewTicker(p.o.Interval)
	defer check.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		case <-again.C:
		case <-check.C:
			p.check()
		}
		if next := p.refill(); next > 0 {
			again.Reset(next)
		}
	}
}

// refill starts as many members as it may, and returns when to look again; 0 if the
// starts under way say so.
func (p *Pool) refill() (next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0
	}
	now := time.Now()
	// Those who claim have the processors first, but not for ever.
	if p.holds > 0 || now.Sub(p.claimed) < quiet {
		if p.deferred.IsZero() {
			p.deferred = now
		}
		if now.Sub(p.deferred) < longestWait {
			return quiet
		}
		next = quiet
	} else {
		p.deferred = time.Time{}
	}
	total := 0
	for _, c := range p.classes {
		total += c.making
	}
	for name, c := range p.classes {
		for total < p.o.Parallel && len(c.ready)+c.making < c.size.Ready {
			if wait := c.retry.Sub(now); wait > 0 {
				if next == 0 || wait < next {
					next = wait
				}
				break
			}
			c.making++
			total++
			p.wg.Go(func() { p.add(name, c) })
		}
	}
	return next
}

// add makes one member.
func (p *Pool) add(name Class, c *class) {
	m, err := p.o.Maker.Make(p.ctx, name)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.signal()
	c.making--
	switch {
	case err != nil && p.ctx.Err() != nil:
	case err != nil:
		c.metrics.Failed++
		c.delay = min(max(2*c.delay, firstDelay), longest)
		c.retry = time.Now().Add(c.delay)
		p.o.Log.Warn("the pool cannot be refilled", "class", name, "retry_in", c.delay, "err", err)
	case p.closed || len(c.ready) >= c.size.Ready:
		p.discard(m)
	default:
		c.delay = 0
		c.metrics.Made++
		c.ready = append(c.ready, m)
		p.o.Log.Debug("a sandbox waits in the pool", "sandbox", m.ID)
	}
}

// check replaces members that are old or do not answer. One that is claimed meanwhile is
// its owner's.
func (p *Pool) check() {
	p.mu.Lock()
	now := time.Now()
	var all []Member
	of := map[string]*class{}
	for _, c := range p.classes {
		c.ready = slices.DeleteFunc(slices.Clone(c.ready), func(m Member) bool {
			if now.Sub(m.Made) < c.size.MaxAge {
				all, of[m.ID] = append(all, m), c
				return false
			}
			c.metrics.Expired++
			p.discard(m)
			return true
		})
	}
	p.mu.Unlock()
	for _, m := range all {
		ctx, cancel := context.WithTimeout(p.ctx, checkTime)
		err := p.o.Maker.Check(ctx, m)
		cancel()
		if err == nil || p.ctx.Err() != nil {
			continue
		}
		p.mu.Lock()
		c := of[m.ID]
		if i := slices.IndexFunc(c.ready, func(x Member) bool { return x.ID == m.ID }); i >= 0 {
			p.o.Log.Warn("a sandbox of the pool does not answer", "sandbox", m.ID, "err", err)
			c.metrics.Failed++
			c.ready = slices.Delete(slices.Clone(c.ready), i, i+1)
			p.discard(m)
		}
		p.mu.Unlock()
	}
}
