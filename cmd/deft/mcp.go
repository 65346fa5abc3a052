package main

import (
	"context"
	"io"

	"github.com/deft-dev/deft/cli/mcplogins"
	"github.com/deft-dev/deft/cli/mcpserve"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
)

// mcpCmd are the commands about the Model Context Protocol.
type mcpCmd struct {
	Serve  mcpServeCmd      `cmd:"" help:"Offer Deft to an MCP client over standard input and output: start tasks, watch them, read results."`
	Login  mcplogins.Login  `cmd:"" help:"Log in at a remote MCP server, in the browser."`
	Logout mcplogins.Logout `cmd:"" help:"End the login at a remote MCP server."`
	Logins mcplogins.Logins `cmd:"" help:"List the servers where you are logged in."`
}

// mcpServeCmd serves an MCP client.
type mcpServeCmd struct {
	servedFlags
	Workspace string `short:"C" help:"Directory to work in; tasks may name one below it (default: the current one)." placeholder:"DIR" type:"path"`
	Tasks     int    `help:"How many tasks may run at once." default:"4" placeholder:"N"`
}

// Help is shown by `deft mcp serve --help`.
func (c *mcpServeCmd) Help() string {
	return `An MCP client starts this program itself. In its configuration:

  {"mcpServers": {"deft": {"command": "deft", "args": ["mcp", "serve", "--workspace", "/path/to/project"]}}}

The tools are start_task, watch_task (with progress notifications), task_result, send_message,
cancel_task and list_tasks. Each task is a conversation in a sandbox, as of deft run: the web app
shows it, and deft run --resume goes on with it. Nothing asks the user, so a project's hooks and
MCP servers are used only if you have allowed them before, or name them. When the client
goes away, tasks that run are stopped.`
}

// Validate checks the flags.
func (c *mcpServeCmd) Validate() error {
	if c.Tasks < 1 {
		return fault.New(fault.Invalid, "--tasks must be at least 1")
	}
	return nil
}

// Run serves until the client goes away.
func (c *mcpServeCmd) Run(ctx context.Context, std *streams, g *globalFlags) (err error) {
	one := c.run()
	one.Workspace, one.Confirm = c.Workspace, string(security.Never)
	return serveOver(ctx, std, g, one, func(ctx context.Context, s *served, in io.ReadCloser) error {
		root, err := one.workspace(s.r, ".", s.inside)
		if err != nil {
			return err
		}
		if _, err := s.spec(ctx, event.NewConversationID(), "", root, nil); err != nil {
			return err // it would be of every task
		}
		server := mcpserve.New(mcpserve.Options{
			Sessions: s.sessions, Root: root, Inside: s.inside, Most: c.Tasks, Command: ownCommand(std, g), Version: version,
			Spec: func(ctx context.Context, id event.ConversationID, task, dir string) (session.Spec, error) {
				return s.spec(ctx, id, task, dir, nil)
			},
		})
		return server.Serve(ctx, in, writeCloser{std.Out})
	})
}

// writeCloser is a standard output, which stays open.
type writeCloser struct{ io.Writer }

// Close implements [io.Closer].
func (writeCloser) Close() error { return nil }

// loginWiring is where logins at MCP servers are kept.
func loginWiring(std *streams) mcplogins.Wiring {
	return mcplogins.Wiring{
		LogIn: adapters{}.LogInMCP, LogOut: adapters{}.LogOutMCP,
		Open: func(ctx context.Context) (mcplogins.Store, *schema.Map, error) {
			s, err := openSettings(ctx, std)
			if err != nil {
				return nil, nil, err
			}
			doc, err := s.Load()
			if err != nil {
				return nil, nil, err
			}
			return s, doc.Agent.Object("mcp_config"), nil
		},
	}
}
