package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session/conversationlock"
)

// paths are where Deft keeps things (XDG Base Directory Specification).
type paths struct{ data string }

func findPaths(data string, env func(string) string) (paths, error) {
	if data == "" {
		base := env("XDG_DATA_HOME")
		if !filepath.IsAbs(base) { // the specification ignores relative ones
			home := env("HOME")
			if home == "" {
				return paths{}, fault.New(fault.Invalid, "neither HOME nor XDG_DATA_HOME is set").
					Hint("set DEFT_DATA to a directory for Deft's data")
			}
			base = filepath.Join(home, ".local", "share")
		}
		data = filepath.Join(base, "deft")
	}
	abs, err := filepath.Abs(data)
	if err != nil {
		return paths{}, fault.Wrap(err, fault.Invalid, "find the data directory")
	}
	return paths{data: abs}, nil
}

// store is the directory of conversations: their events, locks and sandboxes. An
// agent server that uses it (--conversations-path) has the same conversations.
func (p paths) store() string { return filepath.Join(p.data, "events") }

// sandboxes is where package session/build keeps them by default.
func (p paths) sandboxes() string { return filepath.Join(p.store(), "sandboxes") }

// checkpoints are the workspaces' checkpoints.
func (p paths) checkpoints() *checkpoint.Store {
	return checkpoint.New(checkpoint.Options{Dir: filepath.Join(p.store(), "checkpoints"), Exclude: []string{p.data}})
}

// worktrees is the directory of forks that have a Git worktree. It is beside Deft's data,
// in which no agent works.
func (p paths) worktrees() string { return p.data + "-worktrees" }

// openStore opens the event store.
func openStore(ctx context.Context, p paths) (*sqlite.Store, error) {
	return sqlite.Open(ctx, p.store(), sqlite.Options{})
}

// lockConversation keeps other processes from running the same conversation,
// an agent server on the same directory among them.
func lockConversation(ctx context.Context, p paths, s eventstream.Stream, id event.ConversationID) (release func(), err error) {
	locks, err := conversationlock.Open(p.store())
	if err != nil {
		return nil, err
	}
	unlock, err := locks.Acquire(context.WithoutCancel(ctx), id)
	if err != nil {
		if errors.Is(err, conversationlock.ErrLocked) {
			err = runcommand.Held(ctx, s, id)
		}
		return nil, errors.Join(err, locks.Close())
	}
	return func() {
		unlock()
		_ = locks.Close() // nothing is written to it
	}, nil
}
