package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/undo"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

// withConversation opens a stored conversation for a command.
func withConversation(ctx context.Context, std *streams, g *globalFlags, name string, do func(*session.Conversation) error) error {
	return withStore(ctx, std, g, func(p paths, s *sqlite.Store) (err error) {
		id, err := conversations.Resolve(ctx, s, name)
		if err != nil {
			return err
		}
		r := newForeground(std, p, s, nil)
		builder, sessions, err := r.open(r.models, slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: slog.LevelWarn})))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx)), builder.Close()) }()
		conv, err := sessions.Get(ctx, id)
		if err == nil {
			err = do(conv)
		}
		if errors.Is(err, session.ErrLocked) {
			return fault.New(fault.Conflict, "the conversation "+string(id)+" is running in another process").Hint("wait for it, or stop it there")
		}
		return err
	})
}

// conversationsOf opens stored conversations for a command.
func conversationsOf(ctx context.Context, std *streams, g *globalFlags) undo.With {
	return func(name string, do func(*session.Conversation) error) error {
		return withConversation(ctx, std, g, name, do)
	}
}
