package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/shell"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
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
	return withStore(ctx, std, g, func(p paths, s *sqlite.Store) (err error) {
		id, err := conversations.Resolve(ctx, s, c.ID)
		if err != nil {
			return err
		}
		r := newForeground(std, p, s, nil)
		builder, sessions, err := r.open(r.models, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx)), builder.Close()) }()
		conv, err := sessions.Get(ctx, id)
		if err != nil {
			return err
		}
		lock := func() (func(), error) { return lockConversation(p, id) }
		terminals, release, err := builder.Terminals(ctx, conv.SandboxRequest(), lock)
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
