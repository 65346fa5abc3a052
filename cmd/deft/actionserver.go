package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/startpages"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/tunnel"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/session/build"
)

// actionServerCmd is the program inside a sandbox: descriptor 3 is its
// listening socket, descriptor 4 its journal. With a port it serves the contract of
// OpenHands' action execution server instead.
type actionServerCmd struct {
	executionServerFlags
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
	listener, journal, err := c.inherited(std)
	if err != nil {
		return err
	}
	// Results that do not fit are kept where commands can read them.
	if c.Results == "" {
		c.Results = filepath.Join(os.TempDir(), ".deft")
	}
	if c.Program { // no agent's actions come here
		c.Executor = build.StandardExecutor
	}
	var masked []string
	for _, name := range c.Masked {
		masked = append(masked, std.env(name))
	}
	executors, err := build.StandardClasses().Executor(c.Executor)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(std.err, nil))
	if std.listener != nil { // the workspace is inside, where nobody else makes it a repository
		if err := worktree.Init(ctx, c.Workspace); err != nil { // it works without
			log.Warn("make the workspace a git repository", "err", err)
		}
	}
	tools, err := executors(build.ExecutorConfig{
		Workspace: c.Workspace, Scratch: c.Results, Env: os.Environ(), Command: process.Command, Network: c.Net, Masked: masked, Log: log,
	})
	if err != nil {
		log.Error("set up tools", "err", err) // the client asks for it
	}
	return actionserver.Serve(ctx, actionserver.Options{
		Masked:   masked,
		Listener: listener, Journal: journal, Tools: tools, SetupErr: err, Grace: c.Grace, OwnProcess: std.listener == nil, Warm: !c.Program, // Without a PID namespace SIGTERM says that the sandbox's first process has died.
		IgnoreSignals: c.Signals && os.Getpid() == 1,

		Workspace: c.Workspace,
		Programs:  build.SandboxPrograms(c.Workspace, os.Environ(), c.Program),
		PTYs:      build.SandboxPTYs(c.Workspace, os.Environ()),
		Ports:     ports(std),
		Settled: func() {
			if err := startpages.Release(); err != nil {
				log.Debug("give memory back", "error", err)
			}
		},
		Logger: log,
	})
}

// ports are those of a sandbox that has processes of its own, and with them a network;
// nil for others.
func ports(std *streams) *actionserver.Ports {
	if os.Getpid() != 1 {
		return nil
	}
	p := &actionserver.Ports{}
	if proxy, err := url.Parse(std.env("HTTP_PROXY")); err == nil {
		if port, err := strconv.Atoi(proxy.Port()); err == nil {
			p.Hidden = append(p.Hidden, port)
		}
	}
	return p
}

// inherited returns the sandbox's socket and journal. In a runtime of `deft runtime-api`
// connections come through HTTP, with a session key that commands must not have.
func (c *actionServerCmd) inherited(std *streams) (net.Listener, *os.File, error) {
	if std.listener == nil {
		listener, journal, err := actionserver.Inherited()
		if err != nil {
			return nil, nil, fmt.Errorf("take over the sandbox's socket and journal: %w", err)
		}
		return listener, journal, nil
	}
	key := std.env(sessionKeyVariable)
	if key == "" {
		return nil, nil, fault.New(fault.Invalid, "the action server needs a session key").Hint("set " + sessionKeyVariable)
	}
	if err := os.Unsetenv(sessionKeyVariable); err != nil {
		return nil, nil, err
	}
	return tunnel.Listen(std.listener, key), std.journal, nil
}
