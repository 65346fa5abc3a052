package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/config"
)

// agentServerCmd serves conversations to OpenHands' clients.
type agentServerCmd struct {
	config.Flags
}

// Help is shown by --help.
func (c *agentServerCmd) Help() string {
	return `Takes the place of the OpenHands agent server: its web page, its Python and
TypeScript clients work with it unchanged.

  deft agent-server                               # for this machine only, no key
  OH_SESSION_API_KEYS_0=… deft agent-server       # for others, who show the key

Settings come from flags, OH_* variables and a JSON file, in this order. What
agents run, they run where the server stands; with --sandbox process each
conversation gets a sandbox around its workspace.`
}

// waiters is how many threads of a busy server mostly hold one of Go's processors
// without computing: the one that starts shells, until each has begun, and the
// one that writes to the disk.
const waiters = 2

// Run serves until it is told to stop.
func (c *agentServerCmd) Run(ctx context.Context, std *streams) error {
	// A server's heap is not small; with 1,000 conversations at once 150 saves
	// 5 % of the time of 100 and costs 70 KB of memory for each.
	debug.SetGCPercent(150)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + waiters)
	}
	ctx, stop := untilTold(ctx)
	defer stop()
	loaded, err := config.Load(os.Environ(), c.Flags)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	l, err := new(net.ListenConfig).Listen(ctx, loaded.Network(), loaded.Address())
	if err != nil {
		return fault.New(fault.Unavailable, "cannot listen on "+loaded.Address()).Because(err).
			Hint("choose another port with --port")
	}
	d, err := newDoor(std, loaded, l.Addr(), log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	served := make(chan error, 1)
	go func() { served <- d.outer.Serve(ctx, l) }()
	if err = d.open(ctx); err != nil {
		stop()
	}
	err = errors.Join(err, <-served)
	return errors.Join(err, d.close(context.WithoutCancel(ctx)))
}
