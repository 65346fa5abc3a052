package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/agentserver/config"
)

// agentServerCmd serves conversations to OpenHands' clients.
type agentServerCmd struct {
	config.Flags
	runtimeAPIFlags
	Executor string `help:"Program that executes actions in sandboxes beside the built-in tools, as exec:PATH, or a class that is linked in (default: DEFT_EXECUTOR_CLASS, or the built-in tools alone)." placeholder:"exec:PATH"`
}

// Help is shown by --help.
func (c *agentServerCmd) Help() string {
	return `Takes the place of the OpenHands agent server: its web page and its Python and
TypeScript clients work with it unchanged.

  deft agent-server --sandbox process         # for this machine only, no key
  OH_SESSION_API_KEYS_0=… deft agent-server --sandbox process
                                              # for others, who send the key

With --sandbox process each conversation gets a sandbox around its workspace, with
--sandbox docker a container from --image that has the workspace, and with --sandbox remote
a runtime of the Runtime API of --runtime-api, whose workspace is inside.
Without it, as at the reference, commands of agents have the rights of the server:
for a container or a machine that has nothing else to lose.

Settings come from flags, OH_* variables and a JSON file, in this order.`
}

// waitingThreads is how many threads of a busy server mostly hold one of Go's
// processors without computing: the one that starts shells, and the one that
// writes to the disk.
const waitingThreads = 2

// warnings is the log of the agent server, in JSON where OpenHands' variable LOG_JSON asks for it.
func warnings(std *streams) slog.Handler {
	o := &slog.HandlerOptions{Level: slog.LevelWarn}
	if asJSON, err := strconv.ParseBool(std.Env("LOG_JSON")); err == nil && asJSON {
		return slog.NewJSONHandler(std.Err, o)
	}
	return slog.NewTextHandler(std.Err, o)
}

// Run serves until it is told to stop.
func (c *agentServerCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	// A server's heap is not small; with 1,000 conversations at once 150 saves
	// 5 % of the time of 100 and costs 70 KB of memory for each.
	debug.SetGCPercent(150)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + waitingThreads)
	}
	ctx, stop := runcommand.UntilTold(ctx)
	defer stop()
	if p, err := findPaths(g.Data, std.Env); err == nil { // else there is no home
		c.DefaultConversationsPath = p.store()
	}
	c.Classes = sandboxClasses()
	cfg, err := config.Load(os.Environ(), c.Flags)
	if err == nil {
		err = c.checkRuntimeAPI(c.Sandbox, std.Env)
	}
	if err != nil {
		return err
	}
	if c.Executor, err = standard.AbsoluteClass(c.Executor); err != nil {
		return err
	}
	classes, err := c.classes(std.Env)
	if err != nil {
		return err
	}
	log := slog.New(warnings(std))
	l, err := std.listen(ctx, cfg.Network(), cfg.Address(), "--host and --port")
	if err != nil {
		return err
	}
	s, err := agentserver.New(agentserver.Options{
		Config: cfg, Adapters: adapters{log, classes, c.Executor}, Addr: l.Addr(), Version: version, Out: std.Err, Log: log,
		Started: func() { releaseStart(log) },
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return s.Serve(ctx, l)
}
