package build

import (
	"context"
	"slices"
	"sync"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/mcp"
	"github.com/deft-dev/deft/tool/program"
)

// mcpExecutor calls the tools of MCP servers. It is part of the runtime in whose
// sandbox the servers are started, so it gets them after it was made.
type mcpExecutor struct {
	local   mcp.Local    // servers of this process
	host    *mcpExecutor // of a sub-agent's host, whose servers it shares; nil for none
	servers tool.Executor

	mu            sync.Mutex
	set           *mcp.Set // nil before it is connected
	agent         session.Agent
	before, after []*tool.Definition // the agent's other tools
	tell          func(note string)  // nil for nobody
	notes         []string           // of changes before there was an agent
}

// definitions are the tools of the servers, and of the host's, as they are now.
func (x *mcpExecutor) definitions() []*tool.Definition {
	if x == nil {
		return nil
	}
	return append(x.host.definitions(), x.own()...)
}

// own are the tools of the servers as they are now.
func (x *mcpExecutor) own() []*tool.Definition {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.set == nil {
		return nil
	}
	return x.set.Definitions()
}

// connected returns the servers; nil without any, or before they are connected.
func (x *mcpExecutor) connected() *mcp.Set {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.set
}

// serve gives the agent the tools whenever they change. before and after are its other
// tools, in their order.
func (x *mcpExecutor) serve(a session.Agent, before, after []*tool.Definition) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.agent, x.before, x.after = a, before, after
	if len(x.notes) == 0 {
		return nil
	}
	return x.update()
}

// changed takes a change of the servers' tools.
func (x *mcpExecutor) changed(c mcp.Change) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.notes = append(x.notes, c.String())
	if x.agent == nil {
		return nil
	}
	return x.update()
}

// update gives the agent the present tools and tells the changes.
func (x *mcpExecutor) update() error {
	notes := x.notes
	x.notes = nil
	set, err := tool.NewSet(slices.Concat(x.before, x.set.Definitions(), x.after)...)
	if err != nil {
		return err
	}
	u, ok := x.agent.(agent.Updatable)
	if !ok {
		return fault.New(fault.Unsupported, "this agent keeps the tools that it had at its start")
	}
	if err := u.SetTools(set); err != nil {
		return err
	}
	for _, n := range notes {
		if x.tell != nil {
			x.tell(n)
		}
	}
	return nil
}

// Execute implements [tool.Executor].
func (x *mcpExecutor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	if x.host != nil && !slices.ContainsFunc(x.own(), func(d *tool.Definition) bool { return d.Name == c.Tool }) {
		return x.host.Execute(ctx, c)
	}
	if x.servers == nil {
		return nil, fault.New(fault.Unavailable, "the agent has no MCP servers that can be used")
	}
	return x.servers.Execute(ctx, c)
}

// Close implements [tool.Executor]. The servers are closed with the conversation.
func (*mcpExecutor) Close() error { return nil }

// mcpExecutor adds the executor of MCP tools; nil for an agent without MCP
// servers.
func (p *parts) mcpExecutor(r session.BuildRequest, local mcp.Local) *mcpExecutor {
	if r.Agent.MCPServers.Len() == 0 && len(local) == 0 {
		return nil
	}
	x := &mcpExecutor{local: local}
	p.local[(&event.MCPToolAction{}).Kind()] = x
	return x
}

// addMCP connects MCP servers and adds their tools. One that cannot be used is a
// warning. programs starts those over stdio.
func (b *Builder) addMCP(ctx context.Context, r session.BuildRequest, of *schema.Map, p *parts, x *mcpExecutor, programs tool.Starter) {
	var servers map[string]mcp.Server
	var err error
	if of.Len() > 0 {
		var raw []byte
		if raw, err = schema.Encode(of); err == nil {
			servers, err = mcp.ParseServers(raw)
		}
	}
	if err != nil {
		p.warnings = append(p.warnings, "MCP servers: "+err.Error())
		return
	}
	logins, err := b.logins(ctx, r, servers)
	if err != nil {
		p.warnings = append(p.warnings, "logins at MCP servers: "+err.Error())
	}
	pattern := ""
	if f := r.Agent.FilterToolsRegex; f != nil {
		pattern = *f
	}
	find := func(name string) (string, bool) { return r.Secret(context.WithoutCancel(ctx), name) }
	if r.Track != nil {
		for _, s := range servers {
			r.Track(serverCredentials(mcp.Expand(s, find))...)
		}
	}
	x.mu.Lock() // changes wait until the set is there
	defer x.mu.Unlock()
	log := b.o.Log
	set, warnings := mcp.Connect(ctx, servers, mcp.Options{
		Changed: func(_ *mcp.Set, c mcp.Change) {
			if err := x.changed(c); err != nil {
				log.Warn("take over the tools of an MCP server", "server", c.Server, "err", err)
			}
		},
		Log: log, Reserved: p.names(), Filter: pattern, Programs: programs, Variables: find, Secrets: find, Mask: r.Mask, Local: x.local,
		Logins: logins, Track: r.Track, Pool: &b.mcpPool, Owner: string(r.Owner),
	})
	for _, w := range warnings {
		p.warnings = append(p.warnings, w.Error())
	}
	p.closers = append(p.closers, set.Close)
	p.defs = append(p.defs, set.Definitions()...)
	x.set, x.servers, x.tell = set, set.Executor(), r.ToolsChanged
}

// logins are the owner's logins, if there is a remote server; nil for none.
func (b *Builder) logins(ctx context.Context, r session.BuildRequest, servers map[string]mcp.Server) (mcp.Logins, error) {
	if b.o.Logins == nil {
		return nil, nil
	}
	for _, s := range servers {
		if s.URL != "" {
			return b.o.Logins(ctx, r.Owner)
		}
	}
	return nil, nil
}

// HostPrograms starts the MCP servers over stdio of a conversation without a
// sandbox, or of none: not in the workspace, and no program of it.
func HostPrograms(workspace string) tool.Starter {
	var untrusted []string
	if workspace != "" {
		untrusted = append(untrusted, workspace)
	}
	return program.New(program.Options{Env: program.HostEnv(), Untrusted: untrusted})
}
