package process_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/process"
)

// TestCaches writes to the caches of tools as these do: it works, lasts for the
// workspace, and neither the user's own caches nor another workspace see it.
func TestCaches(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	module := filepath.Join(b.home, "go/pkg/mod/cache/download/example.org")
	program := filepath.Join(b.home, ".cargo/bin/tool")
	secret := filepath.Join(b.home, ".cargo/credentials.toml")
	write(t, filepath.Join(module, "old"), "the user's")
	write(t, program, "the user's")
	write(t, secret, "SECRET")
	script := `cat "$HOME/go/pkg/mod/cache/download/example.org/old"
echo changed >"$HOME/go/pkg/mod/cache/download/example.org/old"
mkdir -p "$HOME/.cargo/registry" "$HOME/.m2/repository" "$HOME/.cache/go-build" && cd "$HOME"
echo new >.cargo/registry/f && echo new >.m2/repository/f && echo new >.cache/go-build/f
cat .cargo/credentials.toml
(echo changed >.cargo/bin/tool) 2>/dev/null || echo " programs are read-only"`
	read := `cd "$HOME" && cat go/pkg/mod/cache/download/example.org/old .cargo/registry/f .m2/repository/f .cache/go-build/f 2>/dev/null`

	s := b.start(t)
	if got := sh(t, s, script).Out; got != "the user's programs are read-only\n" {
		t.Fatalf("writing: %q", got)
	}
	for path, want := range map[string]string{filepath.Join(module, "old"): "the user's", program: "the user's"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("the user's %s reads %q, %v", path, got, err)
		}
	}
	for _, name := range []string{".cargo/registry", ".m2", ".cache/go-build"} {
		if _, err := os.Stat(filepath.Join(b.home, name)); !os.IsNotExist(err) {
			t.Errorf("%s of the user: %v", name, err)
		}
	}

	// At the same time another sandbox of the workspace has a layer of its own.
	second := b.spec
	second.ID = "second"
	beside, err := b.Start(t.Context(), second)
	must.Succeed(t, err)
	if got := sh(t, beside, read).Out; got != "the user's" {
		t.Errorf("beside: %q", got)
	}
	must.Succeed(t, beside.Stop(t.Context()))

	// Writes last, also for another conversation.
	must.Succeed(t, b.Remove(t.Context(), "one"))
	later := b.spec
	later.ID = "later"
	s, err = b.Start(t.Context(), later)
	must.Succeed(t, err)
	if got := sh(t, s, read).Out; got != "changed\nnew\nnew\nnew\n" {
		t.Errorf("later: %q", got)
	}

	elsewhere := b.spec
	elsewhere.ID, elsewhere.Workspace = "elsewhere", filepath.Join(filepath.Dir(b.ws), "elsewhere")
	must.Succeed(t, os.Mkdir(elsewhere.Workspace, 0o755))
	s, err = b.Start(t.Context(), elsewhere)
	must.Succeed(t, err)
	if got := sh(t, s, read).Out; got != "the user's" {
		t.Errorf("in another workspace: %q", got)
	}
}

// TestCachesBesideMount is how caches last where something is mounted in the home, over
// which the kernel lays nothing, for some of the time.
func TestCachesBesideMount(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	b := setup(t, process.LevelNamespaces)
	write(t, filepath.Join(b.home, "go/pkg/mod/old"), "the user's\n")
	mounted := filepath.Join(b.home, "else where")
	must.Succeed(t, os.Mkdir(mounted, 0o755))
	next := func(id, script, want string) {
		t.Helper()
		spec := b.spec
		spec.ID = id
		s, err := b.Start(t.Context(), spec)
		must.Succeed(t, err)
		if got := sh(t, s, `cd "$HOME" && `+script).Out; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
		if !slices.Contains(s.Report().Features, "cache-overlay") {
			t.Errorf("%s: %+v", id, s.Report())
		}
		must.Succeed(t, b.Remove(t.Context(), id))
	}
	next("before", `cat go/pkg/mod/old && echo one >go/pkg/mod/f && echo one >.m2/f`, "the user's\n")
	must.Succeed(t, unix.Mount("none", mounted, "tmpfs", 0, "size=64k"))
	unmount := sync.OnceValue(func() error { return unix.Unmount(mounted, unix.MNT_DETACH) })
	t.Cleanup(func() { must.Report(t, unmount()) })
	if process.MountedBeneath(filepath.Join(b.home, "go")) || !process.MountedBeneath(b.home) {
		t.Error("it is not seen that something is mounted in the home, or it is seen elsewhere")
	}
	next("meanwhile", `cat go/pkg/mod/old go/pkg/mod/f .m2/f && echo two >>go/pkg/mod/f && echo two >.m2/f && echo two >.gradle/f && rm go/pkg/mod/old`, "the user's\none\none\n")
	if parts := overlays(t, b); !slices.Equal(parts, []string{".cargo", "go/pkg"}) {
		t.Errorf("caches with overlays of their own: %q, want these of the user", parts)
	}
	write(t, filepath.Join(b.home, ".gradle/old"), "the user's since\n")
	next("later", `cat .gradle/old .gradle/f`, "the user's since\ntwo\n")
	must.Succeed(t, unmount())
	next("after", `cat go/pkg/mod/f .m2/f .gradle/f; cat go/pkg/mod/old 2>&1 || true`, "one\ntwo\ntwo\ntwo\ncat: go/pkg/mod/old: No such file or directory\n")
}

// overlays returns the caches in a sandbox's home that have an overlay of their own.
func overlays(t *testing.T, b *bench) (all []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(b.dir, ".caches/*/*/home/parts"))
	must.Succeed(t, err)
	for _, parts := range found {
		must.Succeed(t, filepath.WalkDir(parts, func(path string, _ fs.DirEntry, err error) error {
			if rel, ok := strings.CutSuffix(strings.TrimPrefix(path, parts+"/"), "/work"); ok {
				all = append(all, rel)
				return fs.SkipDir
			}
			return err
		}))
	}
	return all
}

// TestCachesByVariables is how caches work where no file system can be laid over
// another one.
func TestCachesByVariables(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelLandlock)
	write(t, filepath.Join(b.home, "go/pkg/mod/f"), "the user's")
	s := b.start(t)
	a := sh(t, s, `for dir in "$GOMODCACHE" "$GOCACHE" "$CARGO_HOME" "$npm_config_cache" "$PIP_CACHE_DIR"; do
mkdir -p "$dir" && echo new >"$dir/f" && cat "$dir/f" || exit 1; done; echo "$GOPROXY"; cat "$HOME/go/pkg/mod/f"`)
	want := strings.Repeat("new\n", 5) + "file://" + filepath.Join(b.home, "go/pkg/mod/cache/download") + ",https://proxy.golang.org,direct\nthe user's"
	if a.Code != 0 || a.Out != want {
		t.Errorf("%+v, want %q", a, want)
	}
	must.Succeed(t, b.Remove(t.Context(), "one"))
	if got := sh(t, b.start(t), `cat "$CARGO_HOME/f"`).Out; got != "new\n" {
		t.Errorf("later: %q", got)
	}
}

// TestCacheCredentials looks for credentials that tools keep beside their caches, and
// tries to get at them by way of the layer.
func TestCacheCredentials(t *testing.T) {
	t.Parallel()
	secrets := []string{
		".npmrc", ".yarnrc.yml", ".pypirc", ".pip/pip.conf", ".config/pip/pip.conf", ".config/uv/uv.toml", ".config/go/env", ".cargo/credentials", ".cargo/credentials.toml",
		".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".gradle/init.gradle", ".gradle/init.d/own.gradle",
	}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			for _, name := range secrets {
				write(t, filepath.Join(b.home, name), "SECRET")
			}
			for _, dir := range []string{".npm/_cacache", ".cache/pip", ".m2/repository", ".gradle/caches", "go/pkg/mod"} {
				write(t, filepath.Join(b.home, dir, "f"), "the user's")
			}
			look := func(id string) {
				spec := b.spec
				spec.ID = id
				s, err := b.Start(t.Context(), spec)
				if err != nil {
					missing(t, err)
				}
				for _, name := range secrets {
					got := sh(t, s, `cd "$HOME"; cat "$1"; d=$(dirname "$1"); rm -f "$1"; mv "$1" "$1.moved"; mv "$d" "$d.moved"; ln "$1" linked; cp -r "$d" copied; rm -rf "$d"
for f in "$1.moved" "$d.moved" linked copied; do grep -rs SECRET "$f"; done
cat "$1" "$HOME/go/pkg/../../$1" "$HOME/.m2/../$1"`, name).Out
					if strings.Contains(got, "SECRET") {
						t.Errorf("%s in %s: %s", name, id, got)
					}
				}
				if got := sh(t, s, `grep -rs SECRET "$HOME" "$XDG_CACHE_HOME" "$CARGO_HOME" "$GOMODCACHE"`).Out; got != "" {
					t.Errorf("in %s: %s", id, got)
				}
				must.Succeed(t, s.Stop(t.Context()))
			}
			look("first")
			look("later") // with the first one's files in the layer
			for _, name := range secrets {
				if got, err := os.ReadFile(filepath.Join(b.home, name)); err != nil || string(got) != "SECRET" {
					t.Errorf("the user's %s: %q, %v", name, got, err)
				}
			}
		})
	}
}
