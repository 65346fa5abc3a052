package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

func TestHomeShowsToolsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	s := b.start(t)
	a := sh(t, s, `cd $HOME && find . | sort`)
	want := `.
./.bun
./.bun/install
./.bun/install/cache
./.cache
./.cache/deno
./.cache/go-build
./.cache/pip
./.cache/uv
./.cargo
./.cargo/bin
./.cargo/bin/tool
./.cargo/config.toml
./.cargo/credentials.toml
./.config
./.config/git
./.config/git/config
./.config/go
./.config/go/env
./.gitconfig
./.gradle
./.m2
./.npm
./.npm/_cacache
./go
./go/bin
./go/bin/tool
./go/pkg
`
	if diff := cmp.Diff(want, a.Out); diff != "" {
		t.Errorf("home (-want +got):\n%s", diff)
	}
	a = sh(t, s, `cd $HOME && mkdir .own && echo x >.own/f && cat .own/f .cargo/credentials.toml; echo x >go/bin/tool; echo x >.cargo/bin/new; cat go/bin/tool`)
	if !strings.HasPrefix(a.Out, "x\n") || !strings.HasSuffix(a.Out, "\ntool") {
		t.Errorf("writing in the home: %q", a.Out)
	}
	if _, err := os.Stat(filepath.Join(b.home, ".own")); !os.IsNotExist(err) {
		t.Errorf("the private home wrote outside: %v", err)
	}
}

// TestWorkspaceLocations puts the workspace where other rules want to hide it.
func TestWorkspaceLocations(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		for name, location := range map[string]func(b *bench) string{
			"in home":               func(b *bench) string { return filepath.Join(b.home, "src/project") },
			"in a hidden directory": func(b *bench) string { return filepath.Join(b.home, ".local/share/deft/work") },
			"in the data directory": func(b *bench) string { return filepath.Join(b.dir, "workspaces/one") },
			"home itself":           func(b *bench) string { return b.home },
		} {
			t.Run(level+" "+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, level)
				b.spec.Workspace = location(b)
				write(t, filepath.Join(b.spec.Workspace, "dir/file"), "text")
				s := b.start(t)
				a := sh(t, s, `pwd; cat dir/file; echo new >dir/new`)
				if diff := cmp.Diff(answer{Out: b.spec.Workspace + "\ntext"}, a); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
				if got, err := os.ReadFile(filepath.Join(b.spec.Workspace, "dir/new")); err != nil || string(got) != "new\n" {
					t.Errorf("the file made inside reads %q, %v", got, err)
				}
				a = sh(t, s, `cat "$1"/.ssh/* "$1"/.netrc "$1"/.local/share/deft/data "$2"/one/*`, b.home, b.dir)
				if strings.Contains(a.Out, "SECRET") || strings.Contains(a.Out, "started") {
					t.Errorf("secrets are readable: %s", a.Out)
				}
			})
		}
	}
}

// TestAlias: the workspace is at a second path, which the host does not have, with the same
// things hidden; without mounts the report says that it is not.
func TestAlias(t *testing.T) {
	t.Parallel()
	const at = "/workspace-of-a-test"
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			b.spec.Alias, b.spec.Hidden = at, []string{filepath.Join(b.ws, "private")}
			s := b.start(t)
			missing := slices.ContainsFunc(s.Report().Missing, func(m sandbox.Missing) bool { return m.Feature == string(sandbox.FeatureAlias) })
			if missing != (level == process.LevelLandlock) {
				t.Errorf("the report says %+v", s.Report().Missing)
			}
			if missing {
				return
			}
			a := sh(t, s, `cd "$1" && pwd && cat hello && echo; cat private/key; echo new >made && mkdir -p project/sub && rm -r project; cat "$2/made"; ls -d /usr /bin /etc/passwd; mkdir /beside`, at, b.ws)
			if !strings.HasPrefix(a.Out, at+"\nhello\n") || !strings.Contains(a.Out, "new\n/bin\n/etc/passwd\n/usr") || strings.Contains(a.Out, "SECRET") {
				t.Errorf("inside: %+v", a)
			}
			if got, err := os.ReadFile(filepath.Join(b.ws, "made")); err != nil || string(got) != "new\n" {
				t.Errorf("the file made inside reads %q, %v", got, err)
			}
			if _, err := os.Lstat(at); !os.IsNotExist(err) {
				t.Errorf("the host has it: %v", err)
			}
		})
	}
	for name, spoil := range map[string]func(*bench){
		"relative":      func(b *bench) { b.spec.Alias = "w" },
		"the top":       func(b *bench) { b.spec.Alias = "/" },
		"in itself":     func(b *bench) { b.spec.Alias = b.ws + "/x" },
		"around itself": func(b *bench) { b.spec.Alias = filepath.Dir(b.ws) },
		"with a home":   func(b *bench) { b.spec.Alias, b.spec.Workspace = at, b.home },
		"with a grant":  func(b *bench) { b.spec.Alias, b.spec.Readable = at, []string{filepath.Dir(b.ws) + "/outside"} },
	} {
		b := setup(t, process.LevelNamespaces)
		spoil(b)
		if _, err := b.Start(t.Context(), b.spec); !fault.Is(err, fault.Unsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWorkspaceThroughLink(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	link := filepath.Join(b.home, "link")
	must.Succeed(t, os.Symlink(b.ws, link))
	b.spec.Workspace = link
	if got := sh(t, b.start(t), `pwd; cat hello`).Out; got != b.ws+"\nhello" {
		t.Errorf("got %q", got)
	}
}

// TestForeignWorkspace: root works in the directory of another user as it does
// outside, and changed files stay that user's.
func TestForeignWorkspace(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can work in others' directories")
	}
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	for _, path := range []string{b.ws, filepath.Join(b.ws, "hello")} {
		must.Succeed(t, os.Chown(path, nobody, nobody))
	}
	must.Succeed(t, os.Chmod(filepath.Join(b.ws, "hello"), 0o600))
	s := b.start(t)
	a := sh(t, s, `cat hello; echo changed >hello; stat -c %u hello; chown 65534:65534 private && stat -c %u private; grep CapBnd /proc/self/status`)
	if want := "hello65534\n65534\nCapBnd:\t000000000000000b\n"; a.Out != want {
		t.Errorf("got %q, want %q", a.Out, want)
	}
	fi, err := os.Stat(filepath.Join(b.ws, "hello"))
	if err != nil || fi.Sys().(*syscall.Stat_t).Uid != nobody {
		t.Errorf("owner outside: %+v, %v", fi, err)
	}
	if a := sh(t, s, `echo x >/etc/deft-test; chmod 600 /dev/null; echo x >/proc/sys/kernel/core_pattern; cat $HOME/.netrc`); a.Code == 0 || strings.Contains(a.Out, "SECRET") {
		t.Errorf("kept capabilities reach too far: %q", a.Out)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	s := b.start(t)
	for name, c := range map[string]struct{ script, want string }{
		"shared memory":   {`python3 -c 'import multiprocessing as m; print(m.Value("i",7).value)'`, "7\n"},
		"pseudo terminal": {`script -qec 'tty' /dev/null </dev/null | tr -d '\r'`, "/dev/pts/0\n"},
		"process list":    {`ls -d /proc/[0-9]* | head -1`, "/proc/1\n"},
		"temporary files": {`f=$(mktemp) && echo ok >$f && cat $f`, "ok\n"},
		"null device":     {`echo x >/dev/null && head -c 2 /dev/zero | wc -c`, "2\n"},
		"pipes": {`cat <<X
here
X
cat /dev/stdin <hello`, "here\nhello"},
		"git": {`git init -q . && git add hello && git -c user.name=x -c user.email=x@y commit -qm m && git log --format=%s`, "m\n"},
	} {
		if a := sh(t, s, c.script); a.Out != c.want {
			t.Errorf("%s: %q (exit %d), want %q", name, a.Out, a.Code, c.want)
		}
	}
}

// TestMoves moves and links files between the directories of a workspace, as compilers do.
func TestMoves(t *testing.T) {
	t.Parallel()
	python := tool(t, "python3")
	for _, level := range levels {
		b := setup(t, level)
		a := ask(t, b.start(t), request{Argv: []string{python, "-c", `import os
os.makedirs("a/b"); open("a/b/f", "w").close()
os.rename("a/b/f", "a/f"); os.rename("a/f", "f"); os.link("f", "a/b/f"); os.rename("a/b", "b"); print("moved")`}})
		if a.Out != "moved\n" {
			t.Errorf("%s: %+v", level, a)
		}
	}
}

// TestLostWrites tries to write beside the workspace, where the sandbox would lose it: the
// directories around the workspace and around grants are read-only, and the home with its hidden
// directories stays writable.
func TestLostWrites(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	b.spec.Workspace = filepath.Join(b.home, "src/team/project")
	granted := filepath.Join(b.home, "docs/shared")
	for _, dir := range []string{b.spec.Workspace, filepath.Join(b.home, "src/team/other"), granted} {
		must.Succeed(t, os.MkdirAll(dir, 0o755))
	}
	b.spec.Writable = []string{granted}
	own := filepath.Join(b.home, "src/tools/bin/program") // which is shown beside the workspace
	program, err := os.ReadFile(executable(t))
	must.Succeed(t, err)
	write(t, own, "")
	must.Succeed(t, errors.Join(os.WriteFile(own, program, 0o700), os.Chmod(own, 0o700)))
	b.spec.Argv[0] = own
	s := b.start(t)
	if a := sh(t, s, `test -x "$1"`, own); a.Code != 0 {
		t.Errorf("the program is not shown: %+v", a)
	}
	for _, path := range []string{"../lost", "../../lost", "$HOME/src/lost", "$HOME/docs/lost"} {
		for _, make := range []string{"mkdir ", "echo x >"} {
			if a := sh(t, s, make+path); a.Code == 0 || !strings.Contains(a.Out, "Read-only file system") {
				t.Errorf("%s%s: %+v", make, path, a)
			}
		}
	}
	if a := sh(t, s, `echo x >kept && echo x >$HOME/docs/shared/kept && mkdir -p $HOME/.config/program && echo x >$HOME/.programrc && echo ok`); a.Out != "ok\n" {
		t.Errorf("kept files, or a program's own: %+v", a)
	}
	for _, path := range []string{filepath.Join(b.spec.Workspace, "kept"), filepath.Join(granted, "kept")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
