package main

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/cli/undo"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/session/conversationlock"
)

// conversationsCmd works on stored conversations.
type conversationsCmd struct {
	List    conversations.List   `cmd:"" default:"withargs" help:"List conversations, newest first."`
	Show    conversations.Show   `cmd:"" help:"Show the events of a conversation."`
	Export  conversations.Export `cmd:"" help:"Write a conversation to a file or directory."`
	Import  conversations.Import `cmd:"" help:"Read a trajectory file or an OpenHands conversation directory."`
	Fork    undo.Fork            `cmd:"" help:"Go on from an event in another conversation, with files of its own."`
	Delete  conversations.Delete `cmd:"" help:"Delete conversations."`
	Salvage salvageCmd           `cmd:"" help:"Copy the readable part of a damaged store to a new one."`
}

// withStore opens the store for a command and closes it after.
func withStore(ctx context.Context, std *streams, g *globalFlags, do func(paths, *sqlite.Store) error) error {
	p, err := findPaths(g.Data, std.Env)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, p)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(p, s)
}

// storedConversations opens the store for commands that only look.
func storedConversations(ctx context.Context, std *streams, g *globalFlags) conversations.With {
	return func(do func(eventstream.Stream, listing.Locks) error) error {
		return withStore(ctx, std, g, func(p paths, s *sqlite.Store) error {
			locks, err := conversationlock.Open(p.store())
			if err != nil {
				return err
			}
			defer locks.Close()
			return do(s, locks)
		})
	}
}

// deletion deletes stored conversations for a command.
func deletion(ctx context.Context, std *streams, g *globalFlags) conversations.Deletion {
	return func(do func(eventstream.Stream, conversations.Parts) error) error {
		return withStore(ctx, std, g, func(p paths, s *sqlite.Store) (err error) {
			classes, err := runtimeAPIFromEnvironment(std.Env).classes(std.Env)
			if err != nil {
				return err
			}
			sandboxes, err := build.New(build.Options{Dir: p.store(), SandboxDir: p.sandboxes(), Classes: classes, Program: sandboxProgram})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, sandboxes.Close()) }()
			return do(s, parts{p, s, sandboxes})
		})
	}
}

// parts implements [conversations.Parts].
type parts struct {
	paths     paths
	store     *sqlite.Store
	sandboxes *build.Builder
}

// Lock implements [conversations.Parts].
func (p parts) Lock(ctx context.Context, id event.ConversationID) (release func(), err error) {
	return lockConversation(ctx, p.paths, p.store, id)
}

// RemoveSandbox implements [conversations.Parts].
func (p parts) RemoveSandbox(ctx context.Context, id event.ConversationID) error {
	return p.sandboxes.Remove(ctx, id)
}

// RemoveCheckpoints implements [conversations.Parts].
func (p parts) RemoveCheckpoints(ctx context.Context, id event.ConversationID) error {
	return p.paths.checkpoints().Remove(ctx, id)
}
