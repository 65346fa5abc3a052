package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// hold keeps all others, of this process and of others, from changing the
// worktrees of a repository until release is called. Git itself does not: an
// addition reads the half-written entry of another one and fails, and fetches
// share FETCH_HEAD. The lock is on the directory itself, so nothing is left in
// it. Whoever can read the repository can keep the lock for ever, so waiting for
// it has a limit.
func hold(ctx context.Context, common string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	f, err := os.Open(common)
	if err != nil {
		return nil, fmt.Errorf("lock the repository: %w", err)
	}
	locked := make(chan error)
	go func() { // ends when the others have let go
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		for errors.Is(err, unix.EINTR) {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		select {
		case locked <- err:
		case <-ctx.Done():
			_ = f.Close()
		}
	}()
	select {
	case err := <-locked:
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock the repository %s: %w", common, err)
		}
		return func() { _ = f.Close() }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the repository %s: %w", common, ctx.Err())
	}
}

// commonDir is what all worktrees of a repository share.
func commonDir(ctx context.Context, dir string) (string, error) {
	common, err := run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return "", fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	return common, nil
}
