package registry

import (
	"context"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox/bootstrap"
	"github.com/deft-dev/deft/sandbox/pool"
)

// Warm asks for sandboxes that wait for requests like one.
type Warm struct {
	// Request has the fields that decide the class: Image, Factor, User, Group, FSGroup,
	// Pull and RuntimeClass.
	Request Request
	Size    pool.Size
}

// SetWarm sets which sandboxes wait. Sandboxes of other classes are removed.
func (r *Registry) SetWarm(all []Warm) error {
	sizes, classes := map[pool.Class]pool.Size{}, map[pool.Class]class{}
	for _, w := range all {
		c, err := r.class(&w.Request)
		if err != nil {
			return err
		}
		if _, twice := sizes[c.name()]; twice {
			return fault.New(fault.Invalid, "the pool has two sizes for "+string(c.name()))
		}
		sizes[c.name()], classes[c.name()] = w.Size, c
	}
	r.mu.Lock()
	r.classes = classes
	r.mu.Unlock()
	r.pool.Configure(sizes)
	return nil
}

// PoolMetrics returns the pool's counters.
func (r *Registry) PoolMetrics() []pool.Metrics { return r.pool.Metrics() }

// poolMaker makes sandboxes that wait for an assignment.
type poolMaker struct{ r *Registry }

// Make implements pool.Maker.
func (m poolMaker) Make(ctx context.Context, name pool.Class) (pool.Member, error) {
	r, id := m.r, newID()
	r.mu.Lock()
	c, ok := r.classes[name]
	r.waiting[id] = nil
	r.mu.Unlock()
	member := pool.Member{ID: id}
	err := error(fault.New(fault.NotFound, "the pool has no such class any more"))
	if ok {
		err = m.start(ctx, &member, c)
	}
	if err == nil {
		return member, nil
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if derr := m.Discard(clean, member); derr != nil {
		r.o.Log.Warn("what is left of a failed start cannot be removed", "sandbox", id, "err", derr)
	}
	return pool.Member{}, err
}

func (m poolMaker) start(ctx context.Context, member *pool.Member, c class) error {
	s, err := m.r.startSandbox(ctx, member.ID, m.r.o.Self, c) // it may become any server
	if err != nil {
		return err
	}
	member.Ended = s.Done()
	if err := bootstrap.Ping(ctx, s); err != nil {
		return err
	}
	member.Made = time.Now()
	m.r.mu.Lock()
	m.r.waiting[member.ID] = s
	m.r.mu.Unlock()
	return nil
}

// Check implements pool.Maker.
func (m poolMaker) Check(ctx context.Context, x pool.Member) error {
	m.r.mu.Lock()
	s := m.r.waiting[x.ID]
	m.r.mu.Unlock()
	if s == nil { // it was claimed
		return nil
	}
	return bootstrap.Ping(ctx, s)
}

// Discard implements pool.Maker.
func (m poolMaker) Discard(ctx context.Context, x pool.Member) error {
	err := m.r.remove(ctx, x.ID)
	m.r.mu.Lock()
	delete(m.r.waiting, x.ID) // if it is still there, it belongs to nobody
	m.r.mu.Unlock()
	return err
}
