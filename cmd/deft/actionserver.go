package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/runtime/standardserver"
	"github.com/deft-dev/deft/server/executionserver/host"
	"github.com/deft-dev/deft/session/build"
)

// actionServerCmd is the program inside a sandbox: descriptor 3 is its listening socket,
// descriptor 4 its journal. With a port it serves the contract of OpenHands' action execution
// server instead.
type actionServerCmd struct{ host.Flags }

// Run serves until nobody needs the server any more.
func (c *actionServerCmd) Run(ctx context.Context, std *streams) error {
	classes, log := build.StandardClasses().Classes, slog.New(slog.NewJSONHandler(std.Err, nil))
	if c.Port != "" {
		ctx, stop := runcommand.UntilTold(ctx)
		defer stop()
		return host.Serve(ctx, &c.Flags.Flags, host.Config{
			Classes: classes, Class: c.Executor, Log: log,
			Listen: func(ctx context.Context, address string) (net.Listener, error) {
				return std.listen(ctx, "tcp", address, "PORT and --host")
			},
			Serving: func(a net.Addr) { fmt.Fprintf(std.Out, "action server on http://%s\n", a) },
		})
	}
	serve, err := c.Config(classes, std.Env, log)
	if err != nil {
		return err
	}
	return standardserver.Serve(ctx, serve)
}

// joinPlugins joins the plugins of an action server's command line.
func joinPlugins(args []string) []string {
	if commandOf(args) != host.Command {
		return args
	}
	return host.JoinPlugins(args)
}
