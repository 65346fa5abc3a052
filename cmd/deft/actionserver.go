package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/standardserver"
	"github.com/deft-dev/deft/runtime/tunnel"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/executionserver"
	"github.com/deft-dev/deft/session/build"
)

// actionServerCmd is the program inside a sandbox: descriptor 3 is its
// listening socket, descriptor 4 its journal. cmd/deft-sandbox has the same flags. With a
// port it serves the contract of OpenHands' action execution server instead.
type actionServerCmd struct {
	executionFlags
	Workspace string          `help:"Working directory of commands." hidden:"" type:"path"`
	Grace     time.Duration   `help:"How long to live without a controller." default:"10m"`
	Executor  string          `help:"Who runs the actions: standard, a class that is linked in, or exec:PATH for a program." default:"standard" placeholder:"CLASS"`
	Net       sandbox.Network `help:"What commands in the sandbox reach." hidden:""`
	Signals   bool            `name:"ignore-signals" help:"Let no signal end the server." hidden:""`
	Program   bool            `name:"own-program" help:"The sandbox is for one program with a network of its own." hidden:""`
	Masked    []string        `name:"mask" help:"Variables whose values are secret." hidden:""`
	Mark      string          `help:"Changes with what a sandbox that runs must have been started with." hidden:""`
	Results   string          `help:"Directory for results that do not fit (default: in the sandbox's own /tmp)." hidden:"" type:"path"`
}

// Run serves until nobody needs the sandbox any more.
func (c *actionServerCmd) Run(ctx context.Context, std *streams) error {
	if c.Port != "" {
		return c.serveOpenHands(ctx, std, c.Executor)
	}
	if c.Workspace == "" {
		return fault.New(fault.Invalid, "the action server needs a port").Hint("deft action-server PORT --working-dir DIR")
	}
	executors, err := build.StandardClasses().Executor(c.Executor)
	if err != nil {
		return err
	}
	serve := standardserver.Config{
		Workspace: c.Workspace, Grace: c.Grace, Executors: executors, Network: c.Net, IgnoreSignals: c.Signals, OwnProgram: c.Program,
		Results: c.Results, Log: slog.New(slog.NewJSONHandler(std.Err, nil)),
	}
	for _, name := range c.Masked {
		serve.Masked = append(serve.Masked, std.Env(name))
	}
	if std.listener != nil {
		// In a runtime of `deft runtime-api` connections come through HTTP, with a session
		// key that commands must not have.
		key := std.Env(executionserver.KeyVariable)
		if key == "" {
			return fault.New(fault.Invalid, "the action server needs a session key").Hint("set " + executionserver.KeyVariable)
		}
		if err := os.Unsetenv(executionserver.KeyVariable); err != nil {
			return err
		}
		serve.Listener, serve.Journal = tunnel.Listen(std.listener, key), std.journal
	}
	return standardserver.Serve(ctx, serve)
}
