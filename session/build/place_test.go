package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	b, err := New(Options{Dir: t.TempDir()})
	must.Succeed(t, err)
	dir := filepath.Join(t.TempDir(), "shop")
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, ".git/HEAD"), []byte("ref: refs/heads/fix/one\n"), 0o644))
	summary := b.class(session.Placement{SandboxClass: "process"}).Summary
	for name, c := range map[string]struct {
		r    session.BuildRequest
		want codeact.Place
	}{
		"a directory of the user": {
			session.BuildRequest{Workspace: dir, Placement: session.Placement{SandboxClass: "process"}},
			codeact.Place{Repository: "shop", Branch: "fix/one", Directory: dir, Sandbox: summary, Network: "none"},
		},
		"a clone": {
			session.BuildRequest{
				Workspace: dir, Placement: session.Placement{SandboxClass: "process", Network: "go.dev,.example.com:443"},
				Prompt: session.Prompt{Repository: session.Repository{Name: "acme/shop", Branch: "main"}},
			},
			codeact.Place{Repository: "acme/shop", Branch: "main", Directory: dir, Sandbox: summary, Network: "go.dev, .example.com:443"},
		},
		"every host": {
			session.BuildRequest{Workspace: "/none", Placement: session.Placement{SandboxClass: "process", Network: "open,10.0.0.1"}},
			codeact.Place{Directory: "/none", Sandbox: summary, Network: "every public host, 10.0.0.1"},
		},
		"without a sandbox": {
			session.BuildRequest{Workspace: "/none", Placement: session.Placement{SandboxClass: sandbox.None.Name}},
			codeact.Place{Directory: "/none", Sandbox: "no sandbox: they have the rights of the user", Network: "all hosts that the user's machine reaches"},
		},
	} {
		if diff := cmp.Diff(c.want, b.place(c.r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestHostileHead has repositories whose HEAD is no file of theirs.
func TestHostileHead(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(head string) error{
		"a pipe":          func(head string) error { return unix.Mkfifo(head, 0o600) },
		"a link out":      func(head string) error { return os.Symlink("/etc/hostname", head) },
		"a directory":     func(head string) error { return os.Mkdir(head, 0o755) },
		"no branch":       func(head string) error { return os.WriteFile(head, []byte("0123456789abcdef\n"), 0o644) },
		"something large": func(head string) error { return os.WriteFile(head, make([]byte, 1<<20), 0o644) },
	} {
		dir := t.TempDir()
		must.Succeed(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
		must.Succeed(t, put(filepath.Join(dir, ".git/HEAD")))
		if repo, branch := checkoutOf(dir); repo != "" || branch != "" {
			t.Errorf("%s: %q %q", name, repo, branch)
		}
	}
	if name, branch := checkoutOf("/nowhere"); name != "" || branch != "" {
		t.Error("a directory that is not there has a branch")
	}
}

// TestCheckouts finds the repository of a worktree, of a submodule, of a directory in one, and of a checkout without
// a branch, and believes no file that names another repository.
func TestCheckouts(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	shop := filepath.Join(home, "shop")
	testtree.Write(t, shop, map[string]string{"sub/file": "x"})
	testtree.Commit(t, shop)
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", shop, "-c", "protocol.file.allow=always"}, args...)...).CombinedOutput()
		must.Succeed(t, err)
		return strings.TrimSpace(string(out))
	}
	git("branch", "-M", "main")
	git("worktree", "add", "-q", "-b", "fix/two", filepath.Join(home, "tree"))
	git("worktree", "add", "-q", "--detach", filepath.Join(home, "loose"))
	git("submodule", "--quiet", "add", shop, "lib")
	detached := "none: the commit " + git("rev-parse", "HEAD")[:12] + " is checked out"
	testtree.Write(t, home, map[string]string{
		"liar/.git":      "gitdir: " + shop + "/.git\n",
		"other/.git":     "gitdir: " + shop + "/.git/worktrees/tree\n",
		"submarine/.git": "gitdir: " + shop + "/.git/modules/lib\n",
	})
	for dir, want := range map[string][2]string{
		"shop": {"shop", "main"}, "shop/sub": {"shop", "main"}, "tree": {"shop", "fix/two"}, "tree/sub": {"shop", "fix/two"},
		"loose": {"shop", detached}, "shop/lib": {"lib", "main"}, "liar": {}, "other": {}, "submarine": {}, ".": {},
	} {
		if name, branch := checkoutOf(filepath.Join(home, dir)); name != want[0] || branch != want[1] {
			t.Errorf("%s: %q %q, want %q", dir, name, branch, want)
		}
	}
}
