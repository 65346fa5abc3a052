package session

import (
	"context"
	"errors"
	"os"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/skill"
)

// PlainDirectories are directories of this machine without Git.
type PlainDirectories struct {
	// Skills are the user's and the public skills.
	Skills skill.Catalog
}

// Prepare implements [WorkspaceFiles].
func (PlainDirectories) Prepare(_ context.Context, dir string, _ bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fault.Wrap(err, fault.Invalid, "make the workspace "+dir)
	}
	return nil
}

// AddWorktree implements [WorkspaceFiles]: there is no repository.
func (PlainDirectories) AddWorktree(_ context.Context, dir string, _ event.ConversationID, _ *WorktreeOptions) (root, work string, err error) {
	return "", dir, nil
}

// RemoveWorktree implements [WorkspaceFiles].
func (PlainDirectories) RemoveWorktree(context.Context, string) error { return nil }

// ProjectSkills implements [WorkspaceFiles].
func (PlainDirectories) ProjectSkills(dir string) ([]skill.Skill, []skill.Warning) {
	return skill.LoadProject(dir)
}

// UserSkills implements [WorkspaceFiles].
func (d PlainDirectories) UserSkills() ([]skill.Skill, []skill.Warning) {
	return d.Skills.User()
}

// PublicSkills implements [WorkspaceFiles].
func (d PlainDirectories) PublicSkills(marketplace string) ([]skill.Skill, []skill.Warning) {
	return d.Skills.Public(marketplace)
}

// Worktrees are directories of this machine with Git worktrees for conversations.
type Worktrees struct {
	PlainDirectories
	// Root is the directory of all worktrees.
	Root string
	// KeepChanged keeps worktrees with files that no commit has.
	KeepChanged bool
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
	if w.KeepChanged && worktree.Changed(ctx, root) {
		return nil
	}
	return worktree.Remove(ctx, root)
}
