package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Init makes a directory an empty repository, as `git init` does, unless it is
// in one already. It starts a program in its first call only, to read the user's
// init.defaultBranch: each conversation in a new directory gets a repository.
// The directory is hostile; nothing is written outside of it.
func Init(ctx context.Context, dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("find the directory: %w", err)
	}
	if InRepository(dir) {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	err = fillRepository(root, firstBranch(ctx))
	if err = errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("make a repository: %w", err)
	}
	return nil
}

// InRepository reports whether a directory or one above it has a .git with a
// HEAD.
func InRepository(dir string) bool {
	for {
		git := filepath.Join(dir, ".git")
		if at, err := os.Lstat(git); err == nil {
			if !at.IsDir() {
				return true
			}
			// A crash can leave an empty HEAD behind.
			if head, err := os.Lstat(filepath.Join(git, "HEAD")); err == nil && head.Size() > 0 {
				return true
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// fillRepository makes the files of an empty repository. HEAD, by which git
// recognises one, comes last.
func fillRepository(root *os.Root, branch string) error {
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := root.MkdirAll(".git/"+dir, 0o755); err != nil {
			return err
		}
	}
	for _, f := range []struct{ name, text string }{
		{"config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"},
		{"HEAD", "ref: refs/heads/" + branch + "\n"},
	} {
		if err := create(root, ".git/"+f.name, f.text); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func create(root *os.Root, name, text string) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if at, serr := root.Lstat(name); serr == nil && at.Mode().IsRegular() && at.Size() == 0 {
			f, err = root.OpenFile(name, os.O_WRONLY, 0o644) // leftovers of a crash
		}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, root.Remove(name)) // an empty file would count as made
	}
	return err
}

var (
	branchName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]*(?:[./][A-Za-z0-9_-]+)*$`)
	branchOnce sync.Once
	branchUser string
)

// firstBranch is the user's init.defaultBranch, as of the first call.
func firstBranch(ctx context.Context) string {
	branchOnce.Do(func() {
		branchUser = "master"
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		name, err := call(ctx, string(filepath.Separator), []string{"config", "--get", "init.defaultBranch"})
		if err == nil && branchName().MatchString(name) {
			branchUser = name
		}
	})
	return branchUser
}
