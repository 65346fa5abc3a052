package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/deft-dev/deft/cli/acpserve"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
)

// acpCmd serves an editor.
type acpCmd struct {
	servedFlags
	Confirm  string `help:"Which actions wait for you, until you choose another mode in the editor: never, risky or always." enum:"never,risky,always" default:"risky" placeholder:"MODE"`
	Analyzer string `help:"File with the security analyzer that rates actions in the place of the usual ones, such as a service, in the modes that ask (docs/confirmation.md)." placeholder:"FILE" type:"path"`
}

// Help is shown by `deft acp --help`.
func (c *acpCmd) Help() string {
	return `An editor starts this program itself. In Zed's settings.json:

  {"agent_servers": {"Deft": {"command": "deft", "args": ["acp"]}}}

Sessions are conversations in a sandbox, as of deft run, in the project's directory: the web app
shows them, and deft run --resume goes on with one when the editor has closed it. The modes of a
session say which actions wait for you. A project's hooks and MCP servers are used only if you
have allowed them before (deft run asks), or name them here; the editor's MCP servers are used.`
}

// Run serves until the editor goes away.
func (c *acpCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	analyzer, err := runcommand.ReadAnalyzer(c.Analyzer, security.Preset(c.Confirm))
	if err != nil {
		return err
	}
	one := c.run()
	one.Confirm = c.Confirm
	return serveOver(ctx, std, g, one, func(ctx context.Context, s *served, in io.ReadCloser) error {
		server := acpserve.New(acpserve.Options{
			Sessions: s.sessions, Inside: s.inside, Mode: security.Preset(c.Confirm), Analyzer: analyzer, Version: version, Log: s.log,
			Spec: func(ctx context.Context, id event.ConversationID, dir string, servers json.RawMessage) (session.Spec, error) {
				if s.inside {
					dir = ""
				}
				return s.spec(ctx, id, "", dir, servers)
			},
		})
		s.r.watch = server.Assigned
		return server.Serve(ctx, in, std.Out)
	})
}
