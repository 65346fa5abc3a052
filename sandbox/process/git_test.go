package process_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/sandbox/process"
)

// TestGitIdentity commits inside: the commit carries the user's name, and neither the
// agents of SSH and GnuPG nor git's credentials can be reached, also if their variables
// are given.
func TestGitIdentity(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	python := tool(t, "python3")
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			home, err := os.MkdirTemp("", "home") //nolint:usetesting // the path of a socket is short
			must.Succeed(t, err)
			t.Cleanup(func() { os.RemoveAll(home) })
			agent, err := os.MkdirTemp("", "ssh-") //nolint:usetesting // as ssh-agent does
			must.Succeed(t, err)
			t.Cleanup(func() { os.RemoveAll(agent) })
			for name, text := range map[string]string{
				".gitconfig":       "[user]\n\tname = Ada Lovelace\n\temail = ada@example.com\n[credential]\n\thelper = store\n",
				".git-credentials": "https://SECRET@host", ".ssh/id_ed25519": "SECRET", ".gnupg/key": "SECRET",
			} {
				write(t, filepath.Join(home, name), text)
			}
			sockets := []string{filepath.Join(agent, "agent.1"), filepath.Join(home, ".ssh/agent"), filepath.Join(home, ".gnupg/S.gpg-agent")}
			for _, path := range sockets {
				l, err := net.Listen("unix", path)
				must.Succeed(t, err)
				t.Cleanup(func() { l.Close() })
			}
			b.home = home
			b.Provider = b.provider(t, level)
			b.spec.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "SSH_AUTH_SOCK=" + sockets[0]}
			s := b.start(t)
			got := sh(t, s, `git init -q . && git add hello && git commit -qm one && git log --format='%an <%ae> %cn <%ce>'`)
			if want := "Ada Lovelace <ada@example.com> Ada Lovelace <ada@example.com>\n"; got.Out != want {
				t.Errorf("%q, want %q", got.Out, want)
			}
			if got := sh(t, s, `cat "$HOME/.git-credentials" "$HOME/.ssh/id_ed25519" "$HOME/.gnupg/key"
printf 'protocol=https\nhost=host\n\n' | GIT_TERMINAL_PROMPT=0 git credential fill`).Out; strings.Contains(got, "SECRET") {
				t.Errorf("credentials: %s", got)
			}
			const connect = `import socket, sys
for path in sys.argv[1:]:
    try: socket.socket(socket.AF_UNIX).connect(path); print("connected to", path)
    except OSError: pass`
			if got := ask(t, s, request{Argv: append([]string{python, "-c", connect}, sockets...)}).Out; got != "" {
				t.Error(got)
			}
		})
	}
}

// TestGitIncludes: a name that depends on the directory of the repository, in a file of
// its own, counts inside too, and nothing else of that file.
func TestGitIncludes(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	for _, level := range levels {
		for name, c := range map[string]struct{ condition, want string }{
			"around":      {"[includeIf \"gitdir:WS/\"]", "Work \"of\" us <me@work>"},
			"always":      {"[Include]", "Work \"of\" us <me@work>"},
			"elsewhere":   {"[includeIf \"gitdir:~/work/\"]", "Me <me@home>"},
			"on a branch": {"[includeIf \"onbranch:other\"]", "Me <me@home>"},
		} {
			t.Run(level+" "+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, level)
				if out, err := exec.Command("git", "init", "-q", b.ws).CombinedOutput(); err != nil {
					t.Fatal(err, string(out))
				}
				write(t, filepath.Join(b.home, ".gitconfig"), "[user]\n\tname = Me\n\temail = me@home\n"+strings.ReplaceAll(c.condition, "WS", b.ws)+"\n\tpath = conf/work\n[core]\n\tabbrev = 9\n")
				write(t, filepath.Join(b.home, "conf/work"), "[user]\n\tname = Work \\\"of\\\" us\n[core]\n\tpager = SECRET\n[include]\n\tpath = \"more\"\n\tpath = "+b.ws+"/planted\n")
				write(t, filepath.Join(b.ws, "planted"), "[core]\n\teditor = SECRET\n")
				write(t, filepath.Join(b.home, "conf/more"), "[user]\n\temail = me@work\n\tpassword = SECRET\n")
				s := b.start(t)
				got := sh(t, s, `git add hello && git commit -qm one && git log --format='%an <%ae>' && git config core.abbrev`)
				if got.Out != c.want+"\n9\n" {
					t.Errorf("%q, want %q", got.Out, c.want)
				}
				if got := sh(t, s, `git config --list; cat "$HOME/.gitconfig" "$HOME/conf/work"`).Out; strings.Contains(got, "SECRET") {
					t.Error(got)
				}
			})
		}
	}
}

// TestGitDirElsewhere works in a submodule, in a repository whose separate git directory is
// granted, and below the top of one: commits work, and the configuration stays read-only. A .git file that
// names the directory of another working tree grants nothing.
func TestGitDirElsewhere(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	submodule := func(t *testing.T, b *bench) string {
		lib, super := filepath.Join(b.home, "lib"), filepath.Join(b.home, "super")
		write(t, filepath.Join(lib, "dir/file"), "text")
		testtree.Git(t, lib, "init", "-q")
		testtree.Git(t, lib, "add", ".")
		testtree.Git(t, lib, "commit", "-qm", "one")
		write(t, filepath.Join(super, "file"), "text")
		testtree.Git(t, super, "init", "-q")
		testtree.Git(t, super, "submodule", "--quiet", "add", lib, "parts/lib")
		return filepath.Join(super, "parts/lib")
	}
	for name, c := range map[string]struct {
		workspace func(*testing.T, *bench) string
		refused   bool
	}{
		"submodule":         {submodule, false},
		"below a submodule": {func(t *testing.T, b *bench) string { return filepath.Join(submodule(t, b), "dir") }, false},
		"separate directory": {func(t *testing.T, b *bench) string {
			b.spec.Writable = []string{filepath.Join(b.home, "gits/one.git")}
			testtree.Git(t, b.ws, "init", "-q", "--separate-git-dir", b.spec.Writable[0])
			return b.ws
		}, false},
		"the directory of another": {func(t *testing.T, b *bench) string {
			write(t, filepath.Join(b.ws, ".git"), "gitdir: "+filepath.Join(filepath.Dir(filepath.Dir(submodule(t, b))), ".git/modules/parts/lib")+"\n")
			return b.ws
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, process.LevelNamespaces)
			must.Succeed(t, os.MkdirAll(filepath.Join(b.home, "gits"), 0o755))
			write(t, filepath.Join(b.home, ".gitconfig"), "[user]\n\tname = Me\n\temail = me@home\n")
			b.spec.Workspace = c.workspace(t, b)
			s := b.start(t)
			if a := sh(t, s, `git rev-parse --git-dir`); c.refused != (a.Code != 0) {
				t.Fatalf("git finds %+v", a)
			}
			if c.refused {
				return
			}
			if a := sh(t, s, `echo more >new && git add new && git commit -qm two && git status --porcelain -uno && git log -1 --format=%s`); a.Out != "two\n" {
				t.Errorf("a commit: %+v", a)
			}
			if a := sh(t, s, `dir=$(git rev-parse --git-dir); git config core.fsmonitor /bin/false || echo /x >$dir/commondir || mkdir $dir/hooks/x || mv $dir/config $dir/c`); a.Code == 0 {
				t.Errorf("the configuration was changed: %+v", a)
			}
			cmd := exec.Command("git", "log", "-1", "--format=%s")
			cmd.Dir = b.spec.Workspace
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "two\n" {
				t.Errorf("outside: %s, %v", out, err)
			}
			cmd = exec.Command("git", "status", "--porcelain", "-uno")
			cmd.Dir = b.spec.Workspace
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("status outside: %s, %v", out, err)
			}
		})
	}
}
