package docker_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

// TestRepository: a workspace that is a directory of a repository, or a linked
// worktree, has what git needs of the rest, and cannot change its configuration.
func TestRepository(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo, tree := filepath.Join(base, "repo"), filepath.Join(base, "tree")
	for _, argv := range [][]string{
		{"init", "-q", repo}, {"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"},
		{"-C", repo, "worktree", "add", "-q", tree},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", argv...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", argv, err, out)
		}
	}
	sub := filepath.Join(repo, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	p := provider(t, filepath.Join(base, "docker"))
	for ws, script := range map[string]string{
		sub: `cd ..; test -f .git/HEAD; test -f .git/commondir; ! echo x >>.git/config; ! echo x >.git/hooks/pre-commit; ! echo x >beside; echo x >.git/index.lock; rm .git/index.lock; echo x >sub/file`,
		tree: `test -f .git; dir=$(sed 's/gitdir: //' .git); echo x >$dir/index.lock; rm $dir/index.lock; ! echo x >>$dir/../../config; ! echo x >$dir/../../../beside; ` +
			`mkdir -p $dir/../../objects/zz`,
	} {
		spec := sandbox.Spec{
			ID: "repo" + filepath.Base(ws), Argv: []string{program, "sandboxtest-program"}, Workspace: ws,
			Container: sandbox.Container{Pull: sandbox.PullNever},
		}
		s, err := p.Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Remove(context.WithoutCancel(t.Context()), spec.ID); err != nil {
				t.Error(err)
			}
		})
		sandboxtest.Shell(t, s, "set -e; exec 2>&1; "+script)
	}
}
