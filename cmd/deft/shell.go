package main

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/sandboxes"
	"github.com/deft-dev/deft/cli/shell"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/portforward"
)

// shellCmd opens a shell in a conversation's sandbox.
type shellCmd struct {
	ID   string   `arg:"" optional:"" help:"The conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\"; a command to run instead of a shell follows after --." default:"last" complete:"conversations"`
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
	ctx, stop := runcommand.UntilTold(ctx) // else the shell would go on in the sandbox
	defer stop()
	return withSessions(ctx, std, g, c.ID, silent, func(o opened) (err error) {
		conv, err := o.sessions.Get(ctx, o.id)
		if err != nil {
			return err
		}
		lock := func() (func(), error) { return lockConversation(ctx, o.paths, o.store, o.id) }
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

// linked reaches the sandboxes of conversations, for a command.
func linked(ctx context.Context, std *streams, g *globalFlags) sandboxes.Linked {
	return func(name string, do func(sandboxes.Link) error) error {
		return withSessions(ctx, std, g, name, silent, func(o opened) (err error) {
			rt, err := link(ctx, o.builder, o.sessions, o.id)
			if fault.Is(err, fault.NotFound) {
				return fault.New(fault.NotFound, "the sandbox of the conversation does not run").Hint("deft shell " + string(o.id) + " starts it, deft run --resume " + string(o.id) + " too")
			}
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, rt.Close()) }()
			return do(sandboxes.Link{Ports: rt.Ports, Dial: func(ctx context.Context, port int) (portforward.Target, error) { return rt.DialPort(ctx, port) }})
		})
	}
}
