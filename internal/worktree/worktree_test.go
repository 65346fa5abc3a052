package worktree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/internal/worktree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// repository makes one with a commit, and hostile configuration.
func repository(t *testing.T, mark string) string {
	t.Helper()
	dir := t.TempDir()
	testtree.Git(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "sub", "a.txt"), "one\n")
	write(t, filepath.Join(dir, ".gitattributes"), "*.txt filter=evil\n")
	testtree.Git(t, dir, "add", ".")
	testtree.Git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	write(t, filepath.Join(dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\ntouch "+mark+"\n")
	must.Succeed(t, os.Chmod(filepath.Join(dir, ".git", "hooks", "post-checkout"), 0o755))
	testtree.Git(t, dir, "config", "filter.evil.smudge", "touch "+mark+"; cat")
	testtree.Git(t, dir, "config", "core.fsmonitor", "touch "+mark)
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	repo := repository(t, mark)
	o := worktree.Options{Root: t.TempDir(), Dir: filepath.Join(repo, "sub"), Name: "one", Branch: "openhands/one"}
	tree, err := worktree.Add(t.Context(), o)
	must.Succeed(t, err)
	if want := filepath.Join(o.Root, "one", filepath.Base(repo)); tree.Root != want {
		t.Errorf("the worktree is %s, want %s", tree.Root, want)
	}
	text, err := os.ReadFile(filepath.Join(tree.Dir, "a.txt"))
	if err != nil || string(text) != "one\n" {
		t.Errorf("a.txt in the worktree: %q, %v", text, err)
	}
	if branch := testtree.Git(t, tree.Root, "-c", "core.fsmonitor=false", "branch", "--show-current"); branch != "openhands/one" {
		t.Errorf("on branch %s", branch)
	}
	must.Succeed(t, worktree.Remove(t.Context(), tree.Root))
	if _, err := os.Lstat(filepath.Dir(tree.Root)); !os.IsNotExist(err) {
		t.Errorf("the worktree is still there: %v", err)
	}
	testtree.Git(t, repo, "rev-parse", "--verify", "refs/heads/openhands/one") // the branch stays
	if err := worktree.Remove(t.Context(), tree.Root); err != nil {
		t.Errorf("removing it again: %v", err)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a program of the repository's configuration ran")
	}
}

func TestBases(t *testing.T) {
	t.Parallel()
	repo := repository(t, filepath.Join(t.TempDir(), "ran"))
	first := testtree.Git(t, repo, "rev-parse", "HEAD")
	testtree.Git(t, repo, "config", "--unset", "core.fsmonitor")
	testtree.Git(t, repo, "checkout", "-qb", "work")
	testtree.Git(t, repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "second")
	second := testtree.Git(t, repo, "rev-parse", "HEAD")
	for name, c := range map[string]struct {
		base, ref, want string
	}{
		"default": {"", "", first}, "head": {worktree.Head, "", second}, "ref": {worktree.Ref, "work", second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := worktree.Add(t.Context(), worktree.Options{
				Root: t.TempDir(), Dir: repo, Name: "x", Branch: "openhands/" + name, Base: c.base, Ref: c.ref,
			})
			must.Succeed(t, err)
			if got := testtree.Git(t, tree.Root, "rev-parse", "HEAD"); got != c.want {
				t.Errorf("starts from %s, want %s", got, c.want)
			}
		})
	}
}

// TestManyAtOnce: git itself fails when trees are added side by side.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	repo := repository(t, filepath.Join(t.TempDir(), "ran"))
	root := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprint("x", i)
			tree, err := worktree.Add(t.Context(), worktree.Options{Root: root, Dir: repo, Name: name, Branch: "openhands/" + name})
			if err == nil {
				err = worktree.Remove(t.Context(), tree.Root)
			}
			must.Report(t, err)
		})
	}
	wg.Wait()
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	repo := repository(t, filepath.Join(t.TempDir(), "ran"))
	testtree.Git(t, repo, "remote", "add", "origin", repo)
	for _, ref := range []string{"nowhere", "+main:refs/heads/other", "main:other", "--all", ""} {
		o := worktree.Options{Root: t.TempDir(), Dir: repo, Name: "x", Branch: "openhands/x", Base: worktree.Ref, Ref: ref}
		if _, err := worktree.Add(t.Context(), o); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if got := testtree.Git(t, repo, "branch", "--format=%(refname:short)"); got != "main" {
		t.Errorf("branches: %s", got)
	}
	none := worktree.Options{Root: t.TempDir(), Dir: t.TempDir(), Name: "x", Branch: "openhands/x"}
	if _, err := worktree.Add(t.Context(), none); !errors.Is(err, worktree.ErrNoRepository) {
		t.Errorf("no repository: %v", err)
	}
}

// TestChanged: what no commit has counts, and the repository's programs do not run.
func TestChanged(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	tree, err := worktree.Add(t.Context(), worktree.Options{Root: filepath.Join(t.TempDir(), "trees"), Dir: repository(t, mark), Name: "one", Branch: "one", Base: worktree.Head})
	must.Succeed(t, err)
	if worktree.Changed(t.Context(), tree.Root) {
		t.Error("a fresh one is changed")
	}
	write(t, filepath.Join(tree.Dir, "new"), "x")
	if !worktree.Changed(t.Context(), tree.Root) || !worktree.Changed(t.Context(), t.TempDir()) {
		t.Error("a new file, or no worktree at all, is no change")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository has run")
	}
}
