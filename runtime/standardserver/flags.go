package standardserver

import (
	"log/slog"
	"time"

	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// SandboxFlags are the flags with which session/build starts the server in a sandbox.
type SandboxFlags struct {
	Workspace string          `help:"Working directory of commands." hidden:"" type:"path"`
	Grace     time.Duration   `help:"How long to live without a controller." default:"10m"`
	Executor  string          `help:"Who runs the actions: standard, a class that is linked in, or exec:PATH for a program." default:"standard" placeholder:"CLASS"`
	Net       sandbox.Network `help:"Hosts that commands in the sandbox may reach." hidden:""`
	Signals   bool            `name:"ignore-signals" help:"Let no signal end the server." hidden:""`
	Program   bool            `name:"own-program" help:"The sandbox is for one program with a network of its own." hidden:""`
	Masked    []string        `name:"mask" help:"Variables whose values are secret." hidden:""`
	Mark      string          `help:"Mark of the options that a running sandbox must have been started with." hidden:""`
	Results   string          `help:"Directory for results that do not fit (default: in the sandbox's own /tmp)." hidden:"" type:"path"`
}

// Config returns the server's configuration. It is fault.Invalid without a workspace, or with
// an executor class that is not among classes.
func (f *SandboxFlags) Config(classes standard.Classes, env func(string) string, log *slog.Logger) (Config, error) {
	if f.Workspace == "" {
		return Config{}, fault.New(fault.Invalid, "the action server needs a port").Hint("deft action-server PORT --working-dir DIR")
	}
	executors, err := classes.Executor(f.Executor)
	if err != nil {
		return Config{}, err
	}
	c := Config{
		Workspace: f.Workspace, Grace: f.Grace, Executors: executors, Network: f.Net, IgnoreSignals: f.Signals, OwnProgram: f.Program,
		Results: f.Results, Log: log,
	}
	for _, name := range f.Masked {
		c.Masked = append(c.Masked, env(name))
	}
	return c, nil
}
