package build

import (
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/pty"
)

// SandboxPTYs are the pseudo terminals of a sandbox, made from inside of it: with its
// environment, and unable to signal the action server.
func SandboxPTYs(workspace string, env []string) tool.PTYs {
	return pty.New(pty.Options{Dir: workspace, Env: env, Command: process.Command})
}
