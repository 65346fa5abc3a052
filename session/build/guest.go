package build

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
)

// Guest implements [session.Host].
func (r *resources) Guest(ctx context.Context, q session.BuildRequest) (session.Resources, error) {
	q.Placement = r.b.placement(q.Placement)
	if files := r.Files(); q.Project != nil && files != nil {
		if err := q.Project(ctx, files, &q); err != nil {
			return nil, err
		}
	}
	p := &parts{local: localTools(q.Tasks), more: r.b.o.Classes.Tools, open: r.b.open(q)}
	if err := p.addTools(ctx, q, r.b.o.Log); err != nil {
		return nil, err
	}
	for _, d := range slices.Concat(r.lent, r.mcp.definitions()) {
		if !slices.Contains(p.names(), d.Name) {
			p.defs = append(p.defs, d)
		}
	}
	servers := r.mcp
	before := p.defs[:len(p.defs):len(p.defs)]
	own := ownServers(q.Agent.MCPServers, r.servers)
	if own.Len() > 0 {
		servers = &mcpExecutor{host: r.mcp}
		r.b.addMCP(ctx, q, own, p, servers, r.programs())
	}
	if servers != nil {
		p.local[(&event.MCPToolAction{}).Kind()] = servers
	}
	a, err := r.b.newAgent(q, p, nil)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	if own.Len() > 0 {
		if err := servers.serve(a, before, nil); err != nil {
			r.b.o.Log.Warn("take over the tools of MCP servers", "err", err)
		}
	}
	return &resources{
		Place: guestPlace{r.Place, string(q.ID)}, b: r.b, agent: a, local: newBesideRuntime(p.local), parts: p, lent: r.lent,
		mcp: servers, servers: q.Agent.MCPServers, programs: r.programs,
	}, nil
}

// ownServers are the MCP servers of a guest that its host has not got.
func ownServers(all, hosts *schema.Map) *schema.Map {
	own := schema.NewMap()
	for _, name := range all.Keys() {
		if there := hosts.Get(name); there == nil || !sameServer(there, all.Get(name)) {
			own.Set(name, all.Get(name))
		}
	}
	return own
}

func sameServer(a, b any) bool {
	one, err1 := schema.Encode(a)
	other, err2 := schema.Encode(b)
	return err1 == nil && err2 == nil && string(one) == string(other)
}

// guestPlace is the place of a host for one of its sub-agents, which does not end it.
type guestPlace struct {
	session.Place
	agent string // whose shell is used
}

// Runtime implements [session.Place].
func (g guestPlace) Runtime() runtime.Runtime { return lent{g.Place.Runtime(), g.agent} }

// Warm implements [session.Place]. The host does it.
func (guestPlace) Warm(context.Context) error { return nil }

// Close implements [session.Place].
func (guestPlace) Close(context.Context, bool) error { return nil }

// lent is the runtime of a host for one of its guests. It is no [runtime.Preparer]: a guest
// does not know which other actions are pending.
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
	switch r.Action.(type) {
	case *event.TaskAction, *event.WorkflowAction:
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
