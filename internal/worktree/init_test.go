package worktree_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/internal/worktree"
)

func start(t *testing.T, dir string) {
	t.Helper()
	must.Succeed(t, worktree.Init(t.Context(), dir))
}

// TestInit wants the result of `git init`, so that new files show as changes.
func TestInit(t *testing.T) {
	t.Parallel()
	dir, by := t.TempDir(), t.TempDir()
	start(t, dir)
	must.Succeed(t, exec.CommandContext(t.Context(), "git", "init", "-q", by).Run())
	if got, want := testtree.Git(t, dir, "symbolic-ref", "HEAD"), testtree.Git(t, by, "symbolic-ref", "HEAD"); got != want {
		t.Errorf("the first branch is %s, git makes it %s", got, want)
	}
	write(t, filepath.Join(dir, "sub", "a.txt"), "one\n")
	if got := testtree.Git(t, dir, "status", "--porcelain", "-uall"); got != "?? sub/a.txt" {
		t.Errorf("the status is %q", got)
	}
	testtree.Git(t, dir, "add", ".")
	testtree.Git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	start(t, dir)
	start(t, filepath.Join(dir, "sub"))
	if _, err := os.Lstat(filepath.Join(dir, "sub", ".git")); err == nil {
		t.Error("there is a repository within the repository")
	}
	if got := testtree.Git(t, dir, "log", "--format=%s"); got != "first" {
		t.Errorf("the log is %q", got)
	}
	testtree.Git(t, dir, "fsck", "--strict")
}

// TestInitUnfinished finishes an interrupted start.
func TestInitUnfinished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, ".git", "objects"), 0o755))
	start(t, dir)
	testtree.Git(t, dir, "status")
}

// TestInitOutside wants nothing written through the links of a workspace.
func TestInitOutside(t *testing.T) {
	t.Parallel()
	dir, other, away := t.TempDir(), t.TempDir(), t.TempDir()
	must.Succeed(t, os.Symlink(away, filepath.Join(dir, ".git")))
	start(t, dir)
	must.Succeed(t, os.Mkdir(filepath.Join(other, ".git"), 0o755))
	must.Succeed(t, os.Symlink(away, filepath.Join(other, ".git", "refs")))
	if err := worktree.Init(t.Context(), other); err == nil {
		t.Error("links in a .git were followed")
	}
	if got, err := os.ReadDir(away); err != nil || len(got) > 0 {
		t.Errorf("outside there is %v, %v", got, err)
	}
}

// TestInitThenAdd wants ErrNoRepository where there is no commit yet: the web
// page asks for a worktree wherever a conversation starts.
func TestInitThenAdd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, dir)
	for _, base := range []string{"", worktree.Head} {
		_, err := worktree.Add(t.Context(), worktree.Options{Root: t.TempDir(), Dir: dir, Name: "x", Branch: "openhands/x", Base: base})
		if !errors.Is(err, worktree.ErrNoRepository) {
			t.Errorf("base %q: %v", base, err)
		}
	}
}
