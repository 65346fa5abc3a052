package build

import (
	"context"
	"maps"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/agent/acpagent"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/mcp"
)

// agentPlace is the place of a conversation's actions for the programs of its agent.
type agentPlace struct {
	Execution
	res *resources
}

// RunProgram implements [AgentPlace].
func (p agentPlace) RunProgram(ctx context.Context, q session.Program) (session.ProgramResult, error) {
	return p.res.RunProgram(ctx, q)
}

// addPermissions adds the tools of an agent that is another program: the end of a turn, and those by
// which it asks.
func (p *parts) addPermissions(r session.BuildRequest) {
	p.defs = append(p.defs, finish.Definition())
	for _, d := range acpagent.Permissions() {
		p.defs = append(p.defs, d)
		p.local[d.ActionKind] = acpagent.NewPermission()
	}
	if len(r.ClientTools) > 0 {
		p.warnings = append(p.warnings, "the agent program has its own tools, and not those of the client")
	}
}

// newACP makes an agent that is another program, which speaks the Agent Client Protocol.
func newACP(c AgentConfig) (session.Agent, error) {
	if c.Place == nil {
		return nil, fault.New(fault.Unsupported, "an agent of kind ACPAgent cannot be a sub-agent")
	}
	r := c.Request
	fields, err := r.Agent.ACP()
	if err != nil {
		return nil, err
	}
	return acpagent.New(acpagent.Config{
		Fields: fields, Conversation: r.ID, Workspace: r.Workspace, Tools: c.Tools, Programs: c.Place.Programs(),
		Run: func(ctx context.Context, argv []string, stdin string) (acpagent.Result, error) {
			got, err := c.Place.RunProgram(ctx, session.Program{Argv: argv, Dir: r.Workspace, Stdin: stdin})
			return acpagent.Result{ExitCode: got.ExitCode, Stdout: got.Stdout, Stderr: got.Stderr}, err
		},
		Network: func(hosts []string) []string { return notGranted(r, hosts) },
		Secrets: func(ctx context.Context) map[string]string { return secretsOf(ctx, r) },
		Servers: func() ([]acp.McpServer, error) { return acpServers(r) },
		Suffix:  acpSuffix(r), Mask: r.Mask,
	})
}

// acpSuffix is the text that the program gets with its first message: as the reference's, additions to
// the prompt and the names of secrets.
func acpSuffix(r session.BuildRequest) string {
	parts := []string{strings.TrimSpace(r.Prompt.Suffix)}
	if len(r.Prompt.Secrets) > 0 {
		var b strings.Builder
		b.WriteString("<CUSTOM_SECRETS>\nThese secrets are in your environment variables; never print them:\n")
		for _, name := range slices.Sorted(maps.Keys(r.Prompt.Secrets)) {
			b.WriteString("- $" + name)
			if about := r.Prompt.Secrets[name]; about != "" {
				b.WriteString(": " + about)
			}
			b.WriteByte('\n')
		}
		parts = append(parts, b.String()+"</CUSTOM_SECRETS>")
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// notGranted are the hosts that the conversation's commands may not reach already. A program that
// needs none of its own shares their sandbox.
func notGranted(r session.BuildRequest, hosts []string) (own []string) {
	if r.Network.Open() {
		return nil
	}
	for _, h := range hosts {
		if !r.Network.Grants(strings.TrimPrefix(h, "."), 443) {
			own = append(own, h)
		}
	}
	return own
}

// secretsOf are the values of the conversation's secrets.
func secretsOf(ctx context.Context, r session.BuildRequest) map[string]string {
	all := map[string]string{}
	if r.SecretNames == nil {
		return all
	}
	for _, name := range r.SecretNames() {
		if value, ok := r.Secret(ctx, name); ok && value != "" {
			all[name] = value
		}
	}
	return all
}

// acpServers are the agent's MCP servers as the protocol names them.
func acpServers(r session.BuildRequest) (out []acp.McpServer, err error) {
	if r.Agent.MCPServers.Len() == 0 {
		return nil, nil
	}
	raw, err := schema.Encode(r.Agent.MCPServers)
	if err != nil {
		return nil, err
	}
	servers, err := mcp.ParseServers(raw)
	if err != nil {
		return nil, err
	}
	find := func(name string) (string, bool) { return r.Secret(context.Background(), name) }
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := mcp.Expand(servers[name], find)
		if s.Enabled != nil && !*s.Enabled {
			continue
		}
		if r.Track != nil {
			r.Track(serverCredentials(s)...)
		}
		if s.Command != "" {
			env := []acp.EnvVariable{}
			for _, k := range slices.Sorted(maps.Keys(s.Env)) {
				env = append(env, acp.EnvVariable{Name: k, Value: s.Env[k]})
			}
			args := s.Args
			if args == nil {
				args = []string{}
			}
			out = append(out, acp.McpServer{Stdio: &acp.McpServerStdio{Name: name, Command: s.Command, Args: args, Env: env}})
			continue
		}
		headers := []acp.HttpHeader{}
		for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
			headers = append(headers, acp.HttpHeader{Name: k, Value: s.Headers[k]})
		}
		if a := s.Auth; a != nil {
			switch a.Strategy {
			case mcp.AuthBearer:
				headers = append(headers, acp.HttpHeader{Name: "Authorization", Value: "Bearer " + a.Value})
			case mcp.AuthAPIKey:
				name, value := a.HeaderName, a.Value
				if name == "" {
					name, value = "Authorization", "Bearer "+a.Value
				}
				headers = append(headers, acp.HttpHeader{Name: name, Value: value})
			case mcp.AuthHeader:
				for _, k := range slices.Sorted(maps.Keys(a.Headers)) {
					headers = append(headers, acp.HttpHeader{Name: k, Value: a.Headers[k]})
				}
			}
		}
		if s.Transport == "sse" {
			out = append(out, acp.McpServer{Sse: &acp.McpServerSseInline{Name: name, Url: s.URL, Headers: headers, Type: "sse"}})
		} else {
			out = append(out, acp.McpServer{Http: &acp.McpServerHttpInline{Name: name, Url: s.URL, Headers: headers, Type: "http"}})
		}
	}
	return out, nil
}
