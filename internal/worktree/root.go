package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/deft-dev/deft/fault"
)

// OwnRoot makes the directory of all worktrees and keeps others out of it. Its
// default is in /tmp, where anybody can have made it before: one that belongs to
// somebody else, or is the link of somebody else, is an error of kind Denied.
func OwnRoot(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(err, fault.Denied, "make the directory of worktrees")
	}
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return notOurs(dir)
	}
	if err != nil {
		return fmt.Errorf("open the directory of worktrees: %w", err)
	}
	defer d.Close()
	st, err := d.Stat()
	if err != nil {
		return fmt.Errorf("look at the directory of worktrees: %w", err)
	}
	name, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the directory of worktrees: %w", err)
	}
	if !ours(name) || !ours(st) {
		return notOurs(dir)
	}
	if st.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := d.Chmod(0o700); err != nil {
		return fmt.Errorf("close the directory of worktrees to others: %w", err)
	}
	return nil
}

func notOurs(dir string) error {
	return fault.New(fault.Denied, "the directory of worktrees "+dir+" belongs to another user").
		Hint("set OH_CONVERSATION_WORKTREE_ROOT to a directory of your own")
}

func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
