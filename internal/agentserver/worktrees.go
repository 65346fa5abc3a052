package agentserver

import (
	"context"
	"errors"
	"log/slog"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/session"
)

// worktrees implements [session.WorkspaceFiles] with Git on this machine.
type worktrees struct {
	session.PlainDirectories
	root  string // of all worktrees
	rules workspacedir.Rules
	log   *slog.Logger
}

// Prepare implements [session.WorkspaceFiles].
func (w worktrees) Prepare(ctx context.Context, dir string, repository bool) error {
	real, err := w.rules.Check(dir)
	if err == nil && real != dir {
		err = fault.New(fault.Invalid, "the workspace "+dir+" leads through a link")
	}
	if err == nil {
		err = w.PlainDirectories.Prepare(ctx, dir, repository)
	}
	if err != nil || !repository {
		return err
	}
	if err := worktree.Init(ctx, dir); err != nil { // it works without
		w.log.Warn("make the workspace a git repository", "dir", dir, "err", err)
	}
	return nil
}

// AddWorktree implements [session.WorkspaceFiles]. Where there is no repository
// the conversation works in dir itself, as at the reference: its web page asks
// for a worktree wherever a conversation starts.
func (w worktrees) AddWorktree(ctx context.Context, dir string, id event.ConversationID, o *session.WorktreeOptions) (root, work string, err error) {
	opts := worktree.Options{Root: w.root, Dir: dir, Name: string(id), Branch: "openhands/" + string(id)}
	if o != nil {
		opts.Base = o.Base
		if o.Ref != nil {
			opts.Ref = *o.Ref
		}
		if o.BranchPrefix != nil {
			opts.Branch = *o.BranchPrefix + string(id)
		}
	}
	t, err := worktree.Add(ctx, opts)
	if errors.Is(err, worktree.ErrNoRepository) {
		return "", dir, nil
	}
	return t.Root, t.Dir, err
}

// RemoveWorktree implements [session.WorkspaceFiles].
func (w worktrees) RemoveWorktree(ctx context.Context, root string) error {
	return worktree.Remove(ctx, root)
}
