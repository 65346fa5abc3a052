package session

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/worktree"
)

// Worktrees are directories of this machine with Git worktrees for conversations.
type Worktrees struct {
	PlainDirectories
	// Root is the directory of all worktrees.
	Root string
}

// AddWorktree implements [WorkspaceFiles].
func (w Worktrees) AddWorktree(ctx context.Context, dir string, id event.ConversationID, o *WorktreeOptions) (root, work string, err error) {
	opts := worktree.Options{Root: w.Root, Dir: dir, Name: string(id), Branch: "openhands/" + string(id)}
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

// RemoveWorktree implements [WorkspaceFiles].
func (w Worktrees) RemoveWorktree(ctx context.Context, root string) error {
	return worktree.Remove(ctx, root)
}
