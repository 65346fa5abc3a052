// Package worktree makes a Git worktree for a conversation, so that several can
// work on one repository at a time (docs/openhands/sdk-wire-1.58.md section B.2),
// and a repository where there is none, so that changes can be shown.
//
// # Usage
//
//	t, err := worktree.Add(ctx, worktree.Options{Root: root, Dir: dir, Name: id, Branch: "openhands/" + id})
//	… work in t.Dir …
//	err = worktree.Remove(ctx, t.Root)
//
//	err = worktree.Init(ctx, dir) // where there is no repository
//
// # Security
//
// The repository's configuration may name programs: hooks, filters, monitors.
// None of them runs. Arguments are a list, and nothing is fetched unless a
// reference is named.
//
// # Concurrency and failure
//
// One caller at a time changes a repository, in all processes; the others wait for
// a minute at most. Errors contain git's output. A directory that is in no
// repository is [ErrNoRepository].
package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Bases of a worktree.
const (
	DefaultBranch = "default_branch"
	Head          = "head"
	Ref           = "ref"
)

// RefForm matches the references that a worktree may start from. Git would take
// other texts for instructions where to write fetched objects.
var RefForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// commitForm matches whole names of commits.
var commitForm = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// limit bounds one call of git; fetching a reference is the longest.
const limit = time.Minute

// ErrNoRepository says that the directory is in no repository, or in one without
// a commit or that git cannot read.
var ErrNoRepository = errors.New("no git repository")

// Options describe a worktree.
type Options struct {
	Root   string // directory of all worktrees; made with, and given, mode 0700
	Dir    string // a directory of the repository
	Name   string // of a directory in Root; the worktree is a directory in it, named as the repository
	Branch string // to be made
	Base   string // DefaultBranch, Head or Ref; "" is DefaultBranch
	Ref    string // with Ref: a branch, tag or commit; fetched from origin first, but for a commit that is there
}

// Tree is a worktree.
type Tree struct {
	Root string // its top
	Dir  string // Options.Dir in it
}

// Add makes a worktree on a new branch. Errors are [ErrNoRepository],
// fault.Invalid for an unknown reference, fault.Unavailable where another process
// keeps the repository locked, and fault.Denied where Options.Root belongs to
// somebody else.
func Add(ctx context.Context, o Options) (Tree, error) {
	top, err := run(ctx, o.Dir, "rev-parse", "--show-toplevel")
	if err != nil {
		if ctx.Err() != nil {
			return Tree{}, fmt.Errorf("look for a repository: %w", ctx.Err())
		}
		return Tree{}, fmt.Errorf("%w in %s: %w", ErrNoRepository, o.Dir, err)
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return Tree{}, fmt.Errorf("find %s: %w", o.Dir, err)
	}
	sub, err := filepath.Rel(top, dir)
	if err != nil || sub == ".." || strings.HasPrefix(sub, "../") {
		return Tree{}, fault.New(fault.Invalid, o.Dir+" is not in the repository "+top)
	}
	common, err := commonDir(ctx, top)
	if err != nil {
		return Tree{}, err
	}
	unlock, err := lock(ctx, common)
	if err != nil {
		return Tree{}, err
	}
	defer unlock()
	base, err := o.base(ctx, top)
	if err != nil {
		return Tree{}, err
	}
	if err := checkSize(ctx, top, base); err != nil {
		return Tree{}, err
	}
	root, err := filepath.Abs(filepath.Join(o.Root, o.Name, filepath.Base(top)))
	if err != nil {
		return Tree{}, fmt.Errorf("find the worktree: %w", err)
	}
	if err := OwnRoot(o.Root); err != nil {
		return Tree{}, err
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o700); err != nil {
		return Tree{}, fault.Wrap(err, fault.Denied, "make the directory of worktrees")
	}
	// The branch is never taken for an option: it has a prefix of its own.
	if _, err := run(ctx, top, "worktree", "add", "--quiet", "--no-checkout", "-b", o.Branch, root, base); err != nil {
		_ = os.Remove(filepath.Dir(root)) // it was made for this
		return Tree{}, fmt.Errorf("make a worktree: %w", err)
	}
	// Only now does git show the configuration for this branch and directory.
	_, err = run(ctx, root, "reset", "--quiet", "--hard")
	if err == nil {
		err = inside(root, sub)
	}
	if err != nil {
		_, undo := run(context.WithoutCancel(ctx), common, "worktree", "remove", "--force", "--force", root)
		_ = os.Remove(filepath.Dir(root)) // it was made for this
		return Tree{}, errors.Join(fmt.Errorf("check a worktree out: %w", err), undo)
	}
	return Tree{Root: root, Dir: filepath.Join(root, sub)}, nil
}

// inside makes a directory of a worktree and refuses links out of it.
func inside(root, sub string) error {
	r, err := os.OpenRoot(root)
	if err == nil {
		err = r.MkdirAll(sub, 0o755)
		if err == nil {
			_, err = r.Stat(sub)
		}
		err = errors.Join(err, r.Close())
	}
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the worktree has no directory "+sub)
	}
	return nil
}

// base is the commit that the worktree starts from.
func (o Options) base(ctx context.Context, top string) (string, error) {
	commit := func(name string) (string, error) {
		return run(ctx, top, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	}
	switch o.Base {
	case Head:
	case Ref:
		if !RefForm().MatchString(o.Ref) {
			return "", fault.New(fault.Invalid, "a worktree cannot start from "+o.Ref)
		}
		if commitForm().MatchString(o.Ref) {
			if at, err := commit(o.Ref); err == nil { // it is the same at its origin
				return at, nil
			}
		}
		// A reference that the remote does not have may be local.
		if err := fetch(ctx, top, o.Ref); err == nil {
			return commit("FETCH_HEAD")
		}
		at, err := commit(o.Ref)
		if err != nil {
			return "", fault.New(fault.Invalid, "there is no reference "+o.Ref+" in the repository or at its origin")
		}
		return at, nil
	default:
		for _, name := range []string{"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master"} {
			if at, err := commit(name); err == nil {
				return at, nil
			}
		}
	}
	at, err := commit("HEAD")
	if err != nil {
		return "", fmt.Errorf("%w with a commit: %w", ErrNoRepository, err)
	}
	return at, nil
}

// Possible reports whether a worktree of a directory's repository can be made: there is one, with a
// commit.
func Possible(ctx context.Context, dir string) bool {
	_, err := run(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	return err == nil
}

// Changed reports whether a worktree has files that no commit has, other than ignored ones.
// One that git cannot read counts as changed.
func Changed(ctx context.Context, root string) bool {
	out, err := run(ctx, root, "status", "--porcelain", "--ignore-submodules=all")
	return err != nil || out != ""
}

// Remove removes a worktree with everything in it. Its branch stays. One that
// is gone already is no error.
func Remove(ctx context.Context, root string) error {
	if _, err := os.Lstat(root); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	common, err := commonDir(ctx, root)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, common)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := run(ctx, common, "worktree", "remove", "--force", "--force", root); err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	_ = os.Remove(filepath.Dir(root)) // unless there is something else in it
	return nil
}
