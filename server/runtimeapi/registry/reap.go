package registry

import (
	"context"
	"time"
)

// longestInterval is between two looks at all runtimes, at most.
const longestInterval = 15 * time.Second

// interval is between two looks: short enough for the times that runtimes have.
func (r *Registry) interval() time.Duration {
	every := longestInterval
	for _, limit := range []time.Duration{r.o.Idle, r.o.Keep} {
		if limit > 0 {
			every = min(every, max(limit/4, 100*time.Millisecond))
		}
	}
	return every
}

// busyShare is the part of a processor's time above which a runtime is not idle, though
// nobody is connected to it: an agent may work.
const busyShare = 0.005

// keepFailed is how long a runtime that has never run is kept, so that its client learns
// the reason.
const keepFailed = time.Hour

// reap pauses idle runtimes, removes those that were not used for long, and sandboxes that
// belong to nobody.
func (r *Registry) reap() {
	tick := time.NewTicker(r.interval())
	defer tick.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		var all []*entry
		for _, e := range r.runtimes {
			all = append(all, e)
		}
		r.mu.Unlock()
		for _, e := range all {
			r.reapOne(e)
		}
		if err := r.removeOrphans(r.ctx); err != nil && r.ctx.Err() == nil {
			r.o.Log.Warn("sandboxes without a record cannot be looked for", "err", err)
		}
	}
}

func (r *Registry) reapOne(e *entry) {
	select {
	case e.turn <- struct{}{}:
	default:
		return // it is being changed
	}
	defer e.release()
	ctx, cancel := context.WithTimeout(r.ctx, stopTime)
	defer cancel()
	rt := e.snapshot()
	e.mu.Lock()
	gone := e.gone
	e.mu.Unlock()
	var err error
	switch {
	case gone:
	case rt.State == Running && r.o.Idle > 0 && r.idle(ctx, e) >= r.o.Idle:
		r.o.Log.Info("an idle runtime is paused", "runtime", rt.ID)
		err = r.pause(ctx, e)
	case rt.State == Stopped && rt.WorkingDir == "" && time.Since(rt.Changed) >= keepFailed:
		err = r.forget(ctx, e)
	case (rt.State == Paused || rt.State == Stopped) && r.o.Keep > 0 && time.Since(rt.Changed) >= r.o.Keep:
		r.o.Log.Info("a runtime that was not used is removed", "runtime", rt.ID)
		err = r.forget(ctx, e)
	}
	if err != nil && r.ctx.Err() == nil {
		r.o.Log.Warn("a runtime cannot be reaped", "runtime", rt.ID, "err", err)
	}
}

// idle returns how long nobody has used a runtime and it has not worked.
func (r *Registry) idle(ctx context.Context, e *entry) time.Duration {
	e.mu.Lock()
	s := e.sandbox
	e.mu.Unlock()
	if s == nil {
		return 0
	}
	stats, err := s.Stats(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		if stats.CPU-e.cpu > time.Duration(busyShare*float64(r.interval())) {
			e.used = time.Now()
		}
		e.cpu = stats.CPU
	}
	if e.clients > 0 {
		return 0
	}
	return time.Since(e.used)
}
