package build

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
)

// host is what the resources of a conversation lend to those of its sub-agents.
type host struct {
	b    *Builder
	e    *Execution
	more []*tool.Definition // of executors and of MCP servers
	mcp  tool.Executor      // calls the tools of MCP servers; nil without any
}

// guest makes the resources of a sub-agent, see [session.Resources].
func (h *host) guest(ctx context.Context, r session.BuildRequest) (*session.Resources, error) {
	r.Placement = h.b.placement(r.Placement)
	if r.Project != nil && h.e.Files != nil {
		if err := r.Project(ctx, h.e.Files, &r); err != nil {
			return nil, err
		}
	}
	p := &parts{local: localTools(r.Tasks), more: h.b.o.Classes.Tools}
	if err := p.addTools(ctx, r, h.b.o.Log); err != nil {
		return nil, err
	}
	if h.mcp != nil {
		p.local[(&event.MCPToolAction{}).Kind()] = h.mcp
	}
	for _, d := range h.more {
		if !slices.Contains(p.names(), d.Name) {
			p.defs = append(p.defs, d)
		}
	}
	a, err := h.b.newAgent(r, p)
	if err != nil {
		return nil, err
	}
	local := newBesideRuntime(p.local)
	return &session.Resources{
		Agent: a, Runtime: lent{h.e.Runtime, string(r.ID)}, Local: local, Warnings: p.warnings,
		Ready: h.e.Ready, Isolation: h.e.Isolation, Terminals: h.e.Terminals, Files: h.e.Files,
		Programs: func(ctx context.Context, prog session.Program) (session.ProgramResult, error) {
			return runProgram(ctx, h.e.Runtime, prog)
		},
		Close: func(context.Context, bool) error { return local.Close() },
	}, nil
}

// lent is the runtime of a host as its guests have it: they do not close it, and they do
// not say that none of its actions is pending, for they know of their own only.
type lent struct {
	rt    runtime.Runtime
	agent string // whose shell is used
}

// Execute implements [runtime.Runtime].
func (l lent) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	r.Agent = l.agent
	return l.rt.Execute(ctx, r)
}

// Interrupt implements [runtime.Runtime].
func (l lent) Interrupt(ctx context.Context, id event.ID) error { return l.rt.Interrupt(ctx, id) }

// Ack implements [runtime.Acknowledger].
func (l lent) Ack(ids ...event.ID) {
	if k, ok := l.rt.(runtime.Acknowledger); ok {
		k.Ack(ids...)
	}
}

// Close implements [runtime.Runtime]. The host closes it.
func (lent) Close() error { return nil }

// withTasks is the runtime of tools that run beside the controller, for an agent that can
// give tasks to sub-agents.
type withTasks struct {
	runtime.Runtime
	tasks runtime.Runtime
}

// Execute implements [runtime.Runtime].
func (w withTasks) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	if _, ok := r.Action.(*event.TaskAction); ok {
		return w.tasks.Execute(ctx, r)
	}
	return w.Runtime.Execute(ctx, r)
}

// Interrupt implements [runtime.Runtime].
func (w withTasks) Interrupt(ctx context.Context, id event.ID) error {
	return errors.Join(w.tasks.Interrupt(ctx, id), w.Runtime.Interrupt(ctx, id))
}

// Ack implements [runtime.Acknowledger]. Results of tasks are kept by the conversations of
// their sub-agents.
func (w withTasks) Ack(ids ...event.ID) {
	if k, ok := w.Runtime.(runtime.Acknowledger); ok {
		k.Ack(ids...)
	}
}
