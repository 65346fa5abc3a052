package worktree

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/internal/filelock"
)

// lock keeps all others, of this process and of other ones, from changing the
// worktrees of a repository until unlock is called. Git itself does not: an
// addition reads the half-written entry of another one and fails, and fetches
// share FETCH_HEAD. The lock is on the directory itself, so that no file is left
// in it. Anyone who can read the repository can keep the lock for ever, so the
// wait has a limit.
func lock(ctx context.Context, common string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	unlock, err = filelock.Lock(ctx, common)
	if err != nil {
		return nil, fmt.Errorf("lock the repository: %w", err)
	}
	return unlock, nil
}

// commonDir returns the git directory that all worktrees of a repository share.
func commonDir(ctx context.Context, dir string) (string, error) {
	common, err := run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return "", fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	return common, nil
}
