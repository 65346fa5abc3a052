package bash

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/deft-dev/deft/server/agentserver/workspacescope"
)

// ScopeOptions configure the services of conversations.
type ScopeOptions struct {
	// Options are the options of every service; Dir, DefaultCwd and Contains are set
	// for each.
	Options Options
	// Dir returns the directory for the events of a conversation, by its id
	// as 32 hexadecimal digits.
	Dir func(id string) string
	// Runner returns the runner of a conversation; nil for Options.Runner. It
	// must not block: slow work belongs into Run.
	Runner func(scope workspacescope.Scope) Runner
	// MaxIdle bounds the services that are kept while they are idle;
	// 0 takes 64.
	MaxIdle int
}

// Scopes holds a service for each conversation that uses one. It is safe for
// concurrent use.
type Scopes struct {
	o  ScopeOptions
	mu sync.Mutex
	of map[string]*scoped
}

type scoped struct {
	s    *Service
	uses int
	last time.Time
}

// NewScopes returns an empty set.
func NewScopes(o ScopeOptions) *Scopes {
	o.MaxIdle = cmp.Or(o.MaxIdle, 64)
	return &Scopes{o: o, of: map[string]*scoped{}}
}

// Acquire returns the service of a conversation. Call release after use.
func (c *Scopes) Acquire(scope workspacescope.Scope) (s *Service, release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.of[scope.ID]
	if e == nil {
		o := c.o.Options
		o.Dir, o.DefaultCwd, o.Contains = c.o.Dir(scope.ID), scope.Workspace, scope.Contains
		if c.o.Runner != nil {
			o.Runner = c.o.Runner(scope)
		}
		if s, err = Open(o); err != nil {
			return nil, nil, err
		}
		e = &scoped{s: s}
		c.of[scope.ID] = e
	}
	e.uses++
	return e.s, sync.OnceFunc(func() { c.release(e) }), nil
}

func (c *Scopes) release(e *scoped) {
	c.mu.Lock()
	e.uses--
	e.last = time.Now()
	idle := c.oldest()
	c.mu.Unlock()
	if idle != nil {
		_ = idle.Close() // never fails
	}
}

// oldest removes and returns the service that was idle for longest, if there are
// too many.
func (c *Scopes) oldest() *Service {
	if len(c.of) <= c.o.MaxIdle {
		return nil
	}
	var id string
	var found *scoped
	for k, e := range c.of {
		if e.uses == 0 && !e.s.Busy() && (found == nil || e.last.Before(found.last)) {
			id, found = k, e
		}
	}
	if found == nil {
		return nil
	}
	delete(c.of, id)
	return found.s
}

// Drop closes the service of a conversation that is being deleted.
func (c *Scopes) Drop(_ context.Context, id string) error {
	c.mu.Lock()
	e := c.of[id]
	delete(c.of, id)
	c.mu.Unlock()
	if e == nil {
		return nil
	}
	return e.s.Close()
}

// Close closes all services.
func (c *Scopes) Close() error {
	c.mu.Lock()
	all := c.of
	c.of = map[string]*scoped{}
	c.mu.Unlock()
	var errs []error
	for _, e := range all {
		errs = append(errs, e.s.Close())
	}
	return errors.Join(errs...)
}
