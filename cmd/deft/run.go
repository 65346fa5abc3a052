package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/deft-dev/deft/internal/runcommand"
)

// Run works on the task until it ends.
func (c *runCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	p, err := findPaths(g.Data, std.env)
	if err != nil {
		return err
	}
	src := runcommand.TaskSource{Words: c.Task, File: c.File, Input: std.in, Optional: c.Resume != "" || c.Replay != ""}
	if std.inTTY {
		src.Input = nil
	}
	task, err := src.Read()
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	// A reader that goes away must not stop the agent half way.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	store, err := openStore(ctx, p)
	if err != nil {
		return err
	}
	defer store.Close()
	r := &foreground{
		std: std, paths: p, store: store, view: newView(c, std, g),
		sandbox: c.Sandbox, network: c.Net, grace: c.Grace, task: task,
	}
	o, err := c.options(ctx, r)
	if err != nil {
		return err
	}
	return r.run(ctx, o)
}
