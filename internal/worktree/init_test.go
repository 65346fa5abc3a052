package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/worktree"
)

func start(t *testing.T, dir string) {
	t.Helper()
	if err := worktree.Init(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
}

// TestInit wants the result of `git init`, so that new files show as changes.
func TestInit(t *testing.T) {
	t.Parallel()
	dir, by := t.TempDir(), t.TempDir()
	start(t, dir)
	git(t, by, "init", "-q")
	if got, want := git(t, dir, "symbolic-ref", "HEAD"), git(t, by, "symbolic-ref", "HEAD"); got != want {
		t.Errorf("the first branch is %s, git makes it %s", got, want)
	}
	write(t, filepath.Join(dir, "sub", "a.txt"), "one\n")
	if got := git(t, dir, "status", "--porcelain", "-uall"); got != "?? sub/a.txt" {
		t.Errorf("the status is %q", got)
	}
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	start(t, dir)
	start(t, filepath.Join(dir, "sub"))
	if _, err := os.Lstat(filepath.Join(dir, "sub", ".git")); err == nil {
		t.Error("there is a repository within the repository")
	}
	if got := git(t, dir, "log", "--format=%s"); got != "first" {
		t.Errorf("the log is %q", got)
	}
	git(t, dir, "fsck", "--strict")
}

// TestInitUnfinished finishes an interrupted start.
func TestInitUnfinished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".git", "objects"), 0o755); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
	git(t, dir, "status")
}

// TestInitOutside wants nothing written through the links of a workspace.
func TestInitOutside(t *testing.T) {
	t.Parallel()
	dir, other, away := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Symlink(away, filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
	if err := os.Mkdir(filepath.Join(other, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, filepath.Join(other, ".git", "refs")); err != nil {
		t.Fatal(err)
	}
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
