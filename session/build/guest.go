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

// Guest implements [session.Host].
func (r *resources) Guest(ctx context.Context, q session.BuildRequest) (session.Resources, error) {
	q.Placement = r.b.placement(q.Placement)
	if files := r.Files(); q.Project != nil && files != nil {
		if err := q.Project(ctx, files, &q); err != nil {
			return nil, err
		}
	}
	p := &parts{local: localTools(q.Tasks), more: r.b.o.Classes.Tools}
	if err := p.addTools(ctx, q, r.b.o.Log); err != nil {
		return nil, err
	}
	if r.mcp != nil {
		p.local[(&event.MCPToolAction{}).Kind()] = r.mcp
	}
	for _, d := range slices.Concat(r.lent, r.mcp.definitions()) {
		if !slices.Contains(p.names(), d.Name) {
			p.defs = append(p.defs, d)
		}
	}
	a, err := r.b.newAgent(q, p)
	if err != nil {
		return nil, err
	}
	return &resources{Place: guestPlace{r.Place, string(q.ID)}, b: r.b, agent: a, local: newBesideRuntime(p.local), parts: p, lent: r.lent, mcp: r.mcp}, nil
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
