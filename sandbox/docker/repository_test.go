package docker_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

// TestRepository: a workspace that is a directory of a repository, or a linked
// worktree, has the other files that git needs, and cannot change its
// configuration.
func TestRepository(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
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
	must.Succeed(t, os.Mkdir(sub, 0o755))
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
		must.Succeed(t, err)
		t.Cleanup(func() { must.Report(t, p.Remove(context.WithoutCancel(t.Context()), spec.ID)) })
		sandboxtest.Shell(t, s, "set -e; exec 2>&1; "+script)
	}
}

// TestGitIdentity: git in a container finds the user's name, and nothing else of the user's
// configuration. Nothing is written into the user's files outside.
func TestGitIdentity(t *testing.T) {
	t.Parallel()
	host, base := engine(t).DaemonHost(), t.TempDir()
	home, ws, other := filepath.Join(base, "home"), filepath.Join(base, "work"), filepath.Join(base, "other")
	for _, dir := range []string{home, ws, other} {
		must.Succeed(t, os.Mkdir(dir, 0o755))
	}
	const config = "[include]\n\tpath = more\n[credential]\n\thelper = SECRET\n[http]\n\textraheader = SECRET\n"
	for name, text := range map[string]string{".gitconfig": config, "more": "[user]\n\tname = Ada \\\"A\\\" Lovelace\n\temail = ada@example.com\n\tsigningkey = SECRET\n"} {
		must.Succeed(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	const section = "[user]\n\tname = \"Ada \\\"A\\\" Lovelace\"\n\temail = \"ada@example.com\""
	for name, c := range map[string]struct {
		off       bool
		container sandbox.Container
		script    string
		want      string
	}{
		"home":       {script: `cat "$HOME/.gitconfig"`, want: section},
		"read-only":  {container: sandbox.Container{ReadOnly: true}, script: `cat "$HOME/.gitconfig"`, want: section},
		"not asked":  {off: true, script: `ls "$HOME/.gitconfig" 2>/dev/null || true`},
		"a mount":    {container: sandbox.Container{Mounts: []sandbox.Mount{{Source: other, Target: "/root", Mode: sandbox.MountReadWrite}}}, script: `ls -A /root`},
		"can change": {script: `echo "[user]" >"$HOME/.gitconfig"; cat "$HOME/.gitconfig"`, want: "[user]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := docker.New(docker.Options{Dir: filepath.Join(t.TempDir(), "docker"), Image: image, Self: program, Host: host, Home: home, GitIdentity: !c.off})
			must.Succeed(t, err)
			t.Cleanup(func() { must.Report(t, p.Close()) })
			c.container.Pull = sandbox.PullNever
			s, err := p.Start(t.Context(), sandbox.Spec{ID: "identity", Argv: []string{program, "sandboxtest-program"}, Workspace: ws, Container: c.container})
			must.Succeed(t, err)
			t.Cleanup(func() { must.Report(t, p.Remove(context.WithoutCancel(t.Context()), "identity")) })
			if got := sandboxtest.Shell(t, s, c.script); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	t.Cleanup(func() { // when all have ended
		for _, dir := range []string{ws, other} {
			if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
				t.Errorf("in %s: %v, %v", dir, made, err)
			}
		}
	})
}
