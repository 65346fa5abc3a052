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
// than the connect timeout. Servers and tools that cannot be used are
// warnings, sorted by server. The returned set is never nil.
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
		s.servers = append(s.servers, newServer(name, Expand(c, o.Variables), s))
	}
	s.several = len(s.servers) > 1
	for _, name := range slices.Sorted(maps.Keys(o.Local)) {
		sv := newServer(name, Server{URL: localURL}, s)
		sv.local = o.Local[name]
		s.servers = append(s.servers, sv)
	}
	failed := make([]error, len(s.servers))
	lists := make([][]*sdk.Tool, len(s.servers))
	var all sync.WaitGroup
	for i, sv := range s.servers {
		all.Go(func() {
			if failed[i] = sv.config.Validate(); failed[i] == nil {
				lists[i], failed[i] = sv.list(ctx)
			}
		})
	}
	all.Wait()
	var warnings []Warning
	for i, sv := range s.servers {
		s.listed[sv] = lists[i]
		if failed[i] != nil {
			warnings = append(warnings, Warning{sv.name, failed[i]})
		}
	}
	warnings = append(warnings, s.rebuild()...)
	slices.SortStableFunc(warnings, func(a, b Warning) int { return strings.Compare(a.Server, b.Server) })
	for _, w := range warnings {
		s.warned[w.Error()] = true
	}
	for _, sv := range s.servers {
		s.work.Go(func() { s.watch(sv) })
	}
	return s, warnings
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
	tools := make([]*offered, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		tools = append(tools, byName[name])
	}
	s.mu.Lock()
	s.tools, s.byName = tools, byName
	s.mu.Unlock()
	return warnings
}

// settle is the least time between two listings of one server, so that one
// that announces changes all the time costs little.
const settle = time.Second

// watch lists a server's tools again when it announces a change.
func (s *Set) watch(sv *server) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-sv.relist:
		}
		s.refresh(sv)
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(settle):
		}
	}
}

func (s *Set) refresh(sv *server) {
	list, err := sv.list(s.ctx)
	if s.ctx.Err() != nil {
		return
	}
	if err != nil {
		s.warn(Warning{sv.name, fmt.Errorf("refresh the tools: %w", err)})
		if list == nil {
			return
		}
	}
	s.changing.Lock()
	before := s.current()
	s.listed[sv] = list
	warnings := s.rebuild()
	after := s.current()
	s.changing.Unlock()
	for _, w := range warnings {
		s.warn(w)
	}
	changed := len(before) != len(after)
	for name, o := range after {
		old := before[name]
		if old == o {
			continue
		}
		changed = true
		if old != nil {
			s.warn(Warning{sv.name, fmt.Errorf("tool %q: the server has changed its definition", name)})
		}
	}
	if changed && s.opts.Changed != nil {
		s.opts.Changed(s)
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
