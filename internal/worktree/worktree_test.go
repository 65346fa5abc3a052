package worktree_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/worktree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// repository makes one with a commit, and hostile configuration.
func repository(t *testing.T, mark string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "sub", "a.txt"), "one\n")
	write(t, filepath.Join(dir, ".gitattributes"), "*.txt filter=evil\n")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	write(t, filepath.Join(dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\ntouch "+mark+"\n")
	if err := os.Chmod(filepath.Join(dir, ".git", "hooks", "post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "config", "filter.evil.smudge", "touch "+mark+"; cat")
	git(t, dir, "config", "core.fsmonitor", "touch "+mark)
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	repo := repository(t, mark)
	o := worktree.Options{Root: t.TempDir(), Dir: filepath.Join(repo, "sub"), Name: "one", Branch: "openhands/one"}
	tree, err := worktree.Add(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(o.Root, "one", filepath.Base(repo)); tree.Root != want {
		t.Errorf("the worktree is %s, want %s", tree.Root, want)
	}
	text, err := os.ReadFile(filepath.Join(tree.Dir, "a.txt"))
	if err != nil || string(text) != "one\n" {
		t.Errorf("a.txt in the worktree: %q, %v", text, err)
	}
	if branch := git(t, tree.Root, "-c", "core.fsmonitor=false", "branch", "--show-current"); branch != "openhands/one" {
		t.Errorf("on branch %s", branch)
	}
	if err := worktree.Remove(t.Context(), tree.Root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(tree.Root)); !os.IsNotExist(err) {
		t.Errorf("the worktree is still there: %v", err)
	}
	git(t, repo, "rev-parse", "--verify", "refs/heads/openhands/one") // the branch stays
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
	first := git(t, repo, "rev-parse", "HEAD")
	git(t, repo, "config", "--unset", "core.fsmonitor")
	git(t, repo, "checkout", "-qb", "work")
	git(t, repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "second")
	second := git(t, repo, "rev-parse", "HEAD")
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
			if err != nil {
				t.Fatal(err)
			}
			if got := git(t, tree.Root, "rev-parse", "HEAD"); got != c.want {
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
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	repo := repository(t, filepath.Join(t.TempDir(), "ran"))
	git(t, repo, "remote", "add", "origin", repo)
	for _, ref := range []string{"nowhere", "+main:refs/heads/other", "main:other", "--all", ""} {
		o := worktree.Options{Root: t.TempDir(), Dir: repo, Name: "x", Branch: "openhands/x", Base: worktree.Ref, Ref: ref}
		if _, err := worktree.Add(t.Context(), o); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if got := git(t, repo, "branch", "--format=%(refname:short)"); got != "main" {
		t.Errorf("branches: %s", got)
	}
	none := worktree.Options{Root: t.TempDir(), Dir: t.TempDir(), Name: "x", Branch: "openhands/x"}
	if _, err := worktree.Add(t.Context(), none); !errors.Is(err, worktree.ErrNoRepository) {
		t.Errorf("no repository: %v", err)
	}
}
