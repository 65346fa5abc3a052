package standard

import (
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/program"
	"github.com/deft-dev/deft/tool/pty"
)

// Programs starts the MCP servers over stdio of a conversation from inside its sandbox,
// with the sandbox's environment, and unable to signal the action server: in the workspace,
// or, if the sandbox is a server's own, in an empty directory, and no program of the
// workspace by its name.
func Programs(workspace string, env []string, own bool) tool.Starter {
	o := program.Options{Env: env, Dir: workspace, Command: process.Command}
	if own {
		o.Dir, o.Untrusted = "", []string{workspace}
	}
	return program.New(o)
}

// PTYs are the pseudo terminals of a sandbox, made from inside of it: with its
// environment, and unable to signal the action server.
func PTYs(workspace string, env []string) *pty.Host {
	return pty.New(pty.Options{Dir: workspace, Env: env, Command: process.Command})
}
