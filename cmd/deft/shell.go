package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/shell"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/portforward"
	"github.com/deft-dev/deft/runtime/remote"
)

// shellCmd opens a shell in a conversation's sandbox.
type shellCmd struct {
	ID   string   `arg:"" optional:"" help:"The conversation's id, the start of it, or \"last\"; a command to run instead of a shell follows after --." default:"last" complete:"conversations"`
	Argv []string `hidden:"" sep:"none" help:"The words after --."`
}

// wordsAfterDashes passes the words after -- of `deft shell` on as values of one flag.
// They would be taken for its id otherwise.
func wordsAfterDashes(args []string) []string {
	at := slices.Index(args, "--")
	if at < 0 || commandOf(args[:at]) != "shell" {
		return args
	}
	out := slices.Clone(args[:at])
	for _, word := range args[at+1:] {
		out = append(out, "--argv="+word)
	}
	return out
}

// Run connects the terminal to one in the sandbox until its program has ended.
func (c *shellCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	interactive := std.InTTY && std.OutTTY
	if !interactive && len(c.Argv) == 0 {
		return fault.New(fault.Invalid, "a shell needs a terminal").Hint("name a command: deft shell " + c.ID + " -- COMMAND")
	}
	return withSessions(ctx, std, g, c.ID, silent, func(o opened) (err error) {
		conv, err := o.sessions.Get(ctx, o.id)
		if err != nil {
			return err
		}
		lock := func() (func(), error) { return lockConversation(o.paths, o.id) }
		terminals, release, err := o.builder.Terminals(ctx, conv.SandboxRequest(), lock)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		t := &shell.Terminal{PTYs: terminals, Streams: &std.Streams}
		code, err := t.Run(ctx, c.Argv, interactive)
		if err == nil && code != 0 {
			err = runcommand.Exit(code)
		}
		return err
	})
}

// forwardCmd passes ports of this machine on to a sandbox.
type forwardCmd struct {
	ID    string             `arg:"" optional:"" help:"The conversation's id, the start of it, or \"last\"." default:"last" complete:"conversations"`
	Ports []portforward.Port `arg:"" optional:"" help:"Ports in the sandbox, or LOCAL:PORT with the port on this machine, or ADDRESS:LOCAL:PORT. Without any, the ports on which something listens are shown."`
	JSON  bool               `name:"json" help:"Print ports as JSON."`
}

// Help is shown by `deft forward --help`.
func (c *forwardCmd) Help() string {
	return `The ports are opened on 127.0.0.1, or on the address that is named, until Ctrl-C. The sandbox needs no network for it, and must run: it does
during a run, and for a while after it.

Examples:
  deft forward last
  deft forward last 8000
  deft forward 7c1f 8080:80 5432`
}

// Run forwards until it is stopped.
func (c *forwardCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	return withSessions(ctx, std, g, c.ID, silent, func(o opened) (err error) {
		rt, err := link(ctx, o.builder, o.sessions, o.id)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "the sandbox of the conversation does not run").Hint("deft shell " + string(o.id) + " starts it, deft run --resume " + string(o.id) + " too")
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rt.Close()) }()
		if len(c.Ports) == 0 {
			return c.list(ctx, std, rt)
		}
		if _, err := rt.Ports(ctx); err != nil { // whether it can be
			return err
		}
		return c.forward(ctx, std, rt)
	})
}

func (c *forwardCmd) list(ctx context.Context, std *streams, rt *remote.Runtime) error {
	list, err := rt.Ports(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, p := range list {
		if c.JSON {
			err = std.PrintJSON(p)
		} else {
			_, err = fmt.Fprintf(w, "%d\t%s\n", p.Port, p.Address)
		}
		if err != nil {
			return err
		}
	}
	if len(list) == 0 && !c.JSON {
		fmt.Fprintln(std.Err, "nothing listens in the sandbox")
	}
	return w.Flush()
}

func (c *forwardCmd) forward(ctx context.Context, std *streams, rt *remote.Runtime) error {
	open, err := portforward.Listen(ctx, c.Ports)
	if err != nil {
		return err
	}
	for _, p := range open.Ports() {
		if c.JSON {
			err = std.PrintJSON(p)
		} else {
			_, err = fmt.Fprintln(std.Out, p)
		}
		if err != nil {
			return errors.Join(err, open.Close())
		}
	}
	refused := func(err error) { fmt.Fprintln(std.Err, "deft:", console.Line(err.Error())) }
	return open.Serve(ctx, func(ctx context.Context, port int) (portforward.Target, error) { return rt.DialPort(ctx, port) }, refused)
}
