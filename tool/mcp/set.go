package mcp

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Set is the servers of one conversation and their tools. Make one with
// [Connect]; Close it.
type Set struct {
	opts    Options
	servers []*server // by name
	several bool      // names of tools begin with their server's

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup

	changing sync.Mutex // held while a list is put in place
	listed   map[*server][]*sdk.Tool
	warned   map[string]bool

	mu     sync.Mutex
	tools  []*offered
	byName map[string]*offered
}

// Connect starts or reaches all enabled servers side by side and lists their
// tools. It returns when each has answered or failed, which takes no longer
// than [Options].ConnectTimeout. Servers and tools that cannot be used are
// warnings, sorted by server. A server that is late or has failed is waited for or tried
// again in the background, and [Options].Changed is told when it is there. The returned set
// is never nil.
func Connect(ctx context.Context, servers map[string]Server, o Options) (*Set, []Warning) {
	s := &Set{opts: o, listed: map[*server][]*sdk.Tool{}, warned: map[string]bool{}, byName: map[string]*offered{}}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.opts.fill(); err != nil {
		return s, []Warning{{Err: err}}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		c := servers[name]
		if c.Enabled != nil && !*c.Enabled || o.Local[name] != nil {
			continue
		}
		sv := newServer(name, Expand(c, o.Variables), s)
		if o.Pool != nil && sv.config.URL != "" && sv.config.transport() != Stdio {
			var err error
			if sv.pooled, err = o.Pool.enter(o.Owner, sv.config); err != nil {
				s.opts.Log.Warn("share the session at an MCP server", "server", name, "err", err)
			}
		}
		s.servers = append(s.servers, sv)
	}
	s.several = len(s.servers) > 1
	for _, name := range slices.Sorted(maps.Keys(o.Local)) {
		sv := newServer(name, Server{URL: localURL}, s)
		sv.local = o.Local[name]
		s.servers = append(s.servers, sv)
	}
	firsts := make([]*attempt, len(s.servers))
	for i, sv := range s.servers {
		firsts[i] = s.begin(ctx, sv)
	}
	var warnings []Warning
	timeout := time.After(s.opts.ConnectTimeout)
	for i, sv := range s.servers {
		a := firsts[i]
		select {
		case <-a.done:
		case <-timeout:
			timeout = closed
			select {
			case <-a.done:
			default:
			}
		}
		if list, err, done := a.result(); !done {
			warnings = append(warnings, Warning{sv.name, fault.New(fault.Timeout, fmt.Sprintf(
				"no answer within %g seconds; its tools come when it is there", s.opts.ConnectTimeout.Seconds()))})
		} else {
			s.listed[sv] = list
			if err != nil {
				warnings = append(warnings, Warning{sv.name, err})
			}
		}
		a.detach()
	}
	warnings = append(warnings, s.rebuild()...)
	slices.SortStableFunc(warnings, func(a, b Warning) int { return strings.Compare(a.Server, b.Server) })
	for _, w := range warnings {
		s.warned[w.Error()] = true
	}
	for i, sv := range s.servers {
		s.work.Go(func() {
			s.follow(sv, firsts[i])
			s.watch(sv)
		})
	}
	return s, warnings
}

// closed is a channel of which everything can be received.
var closed = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// attempt is the first try to list a server's tools.
type attempt struct {
	done   chan struct{}
	detach func() bool // from the context of Connect
	late   bool        // it was not done when Connect ended
	list   []*sdk.Tool
	err    error
}

func (s *Set) begin(ctx context.Context, sv *server) *attempt {
	own, cancel := context.WithCancelCause(s.ctx)
	a := &attempt{done: make(chan struct{})}
	a.detach = context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	s.work.Go(func() {
		defer cancel(nil)
		defer close(a.done)
		if a.err = sv.config.Validate(); a.err == nil {
			a.list, a.err = sv.list(own)
		}
	})
	return a
}

// result returns its outcome, if it is done.
func (a *attempt) result() (list []*sdk.Tool, err error, done bool) { //nolint:revive // done says whether the others count
	select {
	case <-a.done:
		return a.list, a.err, true
	default:
		a.late = true
		return nil, nil, false
	}
}

// follow waits for a server that was late, and tries one again that has failed.
func (s *Set) follow(sv *server, a *attempt) {
	<-a.done // it ends with the set at the latest
	list, err := a.list, a.err
	if a.late && (err == nil || list != nil) {
		s.put(sv, list, true)
		return
	}
	if a.late && s.ctx.Err() == nil {
		s.warn(Warning{sv.name, err})
	}
	pause := s.opts.RetryAfter
	for range mostRetries {
		if err == nil || list != nil || !mayPass(err) {
			return
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, max(lastRetry, s.opts.RetryAfter))
		if list, err = sv.list(s.ctx); s.ctx.Err() != nil {
			return
		}
		if err != nil {
			s.warn(Warning{sv.name, err})
		}
		if err == nil || list != nil {
			s.put(sv, list, true)
		}
	}
}

// mayPass reports whether an error may go away by itself.
func mayPass(err error) bool {
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Unsupported, fault.Denied, fault.Auth:
		return false
	}
	return true
}

// rebuild makes the offered tools from the servers' lists. Unchanged tools keep
// their definition. They are ordered by name, so that a server cannot change the
// prompt by changing its order.
func (s *Set) rebuild() (warnings []Warning) {
	byName := map[string]*offered{}
	wanted := s.opts.filter()
	for _, sv := range s.servers {
		size := 0
		for _, t := range s.listed[sv] {
			name := naming(sv.name, t.Name, s.several && sv.local == nil)
			warn := func(err error) {
				warnings = append(warnings, Warning{sv.name, fmt.Errorf("tool %q: %w", describe(t.Name, maxName), err)})
			}
			switch {
			case !wanted(name):
				continue
			case s.opts.shadows(name):
				warn(fault.New(fault.Denied, "refused: it has the name of a built-in tool"))
				continue
			case byName[name] != nil:
				warn(fault.New(fault.Conflict, "refused: there is another tool called "+name))
				continue
			}
			o, err := define(sv, name, s.opts.masked(t))
			if err != nil {
				warn(err)
				continue
			}
			if size += len(o.raw); size > maxSchemas {
				warn(fault.New(fault.Limit, "left out: the server's schemas are too long together"))
				continue
			}
			if old := s.byName[name]; old != nil && old.server == sv && bytes.Equal(old.raw, o.raw) {
				o = old
			}
			byName[name] = o
		}
	}
	if err := s.addResources(byName, wanted); err != nil {
		warnings = append(warnings, Warning{Err: err})
	}
	tools := make([]*offered, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		tools = append(tools, byName[name])
	}
	s.mu.Lock()
	s.tools, s.byName = tools, byName
	s.mu.Unlock()
	return warnings
}

// restful is the least time between two listings of one server, so that one
// that announces changes all the time costs little.
const restful = time.Second

// watch lists a server's tools again when it announces a change.
func (s *Set) watch(sv *server) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-sv.changes.relist:
		}
		sv.changes.update(s.ctx, sv.changes.taken.Load(), func() bool { return s.refresh(s.ctx, sv) })
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(restful):
		}
	}
}

// refresh lists a server's tools again; false if it was stopped.
func (s *Set) refresh(ctx context.Context, sv *server) bool {
	list, err := sv.list(ctx)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		s.warn(Warning{sv.name, fmt.Errorf("refresh the tools: %w", err)})
	}
	if err == nil || list != nil {
		s.put(sv, list, false)
	}
	return true
}

// settle waits for the tools that a server has announced, so that the agent has them in its next
// step.
func (s *Set) settle(ctx context.Context, sv *server) {
	sv.mu.Lock()
	live := sv.session
	sv.mu.Unlock()
	if live == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sv.limit())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	sv.changes.settle(ctx, live.dead, func() bool { return s.refresh(ctx, sv) })
}

// put puts the list of a server in place. arrived says that it is the first one.
func (s *Set) put(sv *server, list []*sdk.Tool, arrived bool) {
	s.changing.Lock()
	before := s.current()
	s.listed[sv] = list
	warnings := s.rebuild()
	after := s.current()
	s.changing.Unlock()
	for _, w := range warnings {
		s.warn(w)
	}
	c := Change{Server: sv.name, Arrived: arrived}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		switch old := before[name]; {
		case old == nil:
			c.Added = append(c.Added, name)
		case old != after[name]:
			c.Altered = append(c.Altered, name)
			s.warn(Warning{sv.name, fmt.Errorf("tool %q: the server has changed its definition", name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			c.Removed = append(c.Removed, name)
		}
	}
	changed := arrived || len(c.Added)+len(c.Removed)+len(c.Altered) > 0
	if changed && s.opts.Changed != nil {
		s.opts.Changed(s, c)
	}
}

// maxWarned bounds the warnings that are remembered, so that each is given once.
const maxWarned = 1000

func (s *Set) warn(w Warning) {
	text := w.Error()
	s.changing.Lock()
	known := s.warned[text] || len(s.warned) >= maxWarned
	if !known {
		s.warned[text] = true
	}
	s.changing.Unlock()
	if !known {
		s.opts.Warn(w)
	}
}

func (s *Set) current() map[string]*offered {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName
}

// Definitions returns the tools as they are now, sorted by name. The caller
// must not change them.
func (s *Set) Definitions() []*tool.Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	defs := make([]*tool.Definition, len(s.tools))
	for i, o := range s.tools {
		defs[i] = o.def
	}
	return defs
}

// Close ends all sessions and the processes of servers over stdio.
func (s *Set) Close() error {
	s.stop()
	var all sync.WaitGroup
	for _, sv := range s.servers {
		all.Go(sv.close)
	}
	all.Wait()
	s.work.Wait()
	return nil
}
