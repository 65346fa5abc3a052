package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/sandboxes"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// sandboxCmd looks at the sandboxes of conversations.
type sandboxCmd struct {
	Logs    sandboxes.Logs  `cmd:"" help:"Show what the server in a sandbox has logged; the output of commands is in the conversation."`
	Stats   sandboxes.Stats `cmd:"" help:"Show what a sandbox uses."`
	Classes sandboxes.List  `cmd:"" help:"List the classes of sandboxes, and what each accepts."`
	Prune   sandboxes.Prune `cmd:"" help:"Remove images that were built for sandboxes, and that no stored conversation uses."`
}

// withSandbox calls f with the sandbox of a conversation that runs or is paused.
func withSandbox(ctx context.Context, std *streams, g *globalFlags, name string, f func(event.ConversationID, sandbox.Sandbox) error) error {
	return withStore(ctx, std, g, func(p paths, s *sqlite.Store) (err error) {
		id, err := conversations.Resolve(ctx, s, name)
		if err != nil {
			return err
		}
		r := newForeground(std, p, s, nil)
		builder, sessions, err := r.open(r.models, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx)), builder.Close()) }()
		placement, err := sessions.Placement(ctx, id)
		if err != nil {
			return err
		}
		found, err := builder.Sandbox(ctx, placement, id)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "no sandbox of conversation "+string(id)+" runs").Hint("its next command starts one")
		}
		if err != nil {
			return err
		}
		return f(id, found)
	})
}

// sandboxesOf finds the sandboxes of conversations for a command.
func sandboxesOf(ctx context.Context, std *streams, g *globalFlags) sandboxes.With {
	return func(name string, do func(event.ConversationID, sandbox.Sandbox) error) error {
		return withSandbox(ctx, std, g, name, do)
	}
}
