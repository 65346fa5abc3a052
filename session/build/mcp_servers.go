package build

import (
	"context"
	"log/slog"

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
	local   mcp.Local // servers of this process
	servers tool.Executor
}

// Execute implements [tool.Executor].
func (x *mcpExecutor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
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

// addMCP connects the agent's MCP servers and adds their tools. One that cannot be
// used is a warning. programs starts those over stdio.
func (p *parts) addMCP(ctx context.Context, r session.BuildRequest, x *mcpExecutor, programs tool.Starter, log *slog.Logger) {
	var servers map[string]mcp.Server
	var err error
	if r.Agent.MCPServers.Len() > 0 {
		var raw []byte
		if raw, err = schema.Encode(r.Agent.MCPServers); err == nil {
			servers, err = mcp.ParseServers(raw)
		}
	}
	if err != nil {
		p.warnings = append(p.warnings, "MCP servers: "+err.Error())
		return
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
	set, warnings := mcp.Connect(ctx, servers, mcp.Options{
		Log: log, Reserved: p.names(), Filter: pattern, Programs: programs, Variables: find, Secrets: find, Mask: r.Mask, Local: x.local,
	})
	for _, w := range warnings {
		p.warnings = append(p.warnings, w.Error())
	}
	p.closers = append(p.closers, set.Close)
	p.defs = append(p.defs, set.Definitions()...)
	x.servers = set.Executor()
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
