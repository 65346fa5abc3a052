package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

// TestTrimCaches removes caches by age and size, the least recently used first, and
// the caches of workspaces that are gone; one in use stays.
func TestTrimCaches(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	const size = 1 << 20
	specs := map[string]sandbox.Spec{}
	var running sandbox.Sandbox
	for _, name := range []string{"gone", "oldest", "older", "newer", "running"} { // in the order of their use
		spec := b.spec
		spec.ID, spec.Workspace = name, filepath.Join(filepath.Dir(b.ws), name)
		must.Succeed(t, os.Mkdir(spec.Workspace, 0o755))
		specs[name] = spec
		s, err := b.Start(t.Context(), spec)
		if err != nil {
			missing(t, err)
		}
		// As modules of Go, in a read-only directory.
		sh(t, s, `mkdir -p "$HOME/go/pkg/mod/m" && head -c 1048576 /dev/urandom >"$HOME/go/pkg/mod/m/f" && chmod 555 "$HOME/go/pkg/mod/m"`)
		if name == "running" {
			running = s
		} else if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, os.Remove(specs["gone"].Workspace))
	inUse := "running"
	names := func() string {
		t.Helper()
		all, err := b.Caches(t.Context())
		must.Succeed(t, err)
		var list []string
		for _, c := range all {
			if c.Bytes < size || c.Bytes > 2*size || c.Running != (filepath.Base(c.Workspace) == inUse) {
				t.Errorf("%+v", c)
			}
			list = append(list, filepath.Base(c.Workspace))
		}
		return strings.Join(list, " ")
	}
	if got := names(); got != "gone oldest older newer running" {
		t.Fatalf("before: %s", got)
	}
	for _, c := range []struct {
		bytes int64
		want  string
	}{
		{process.MaxCacheBytes, "oldest older newer running"},
		{4 * size * 5 / 4, "oldest older newer running"},
		{3 * size * 5 / 4, "older newer running"},
		{1, "running"},
	} {
		must.Succeed(t, process.Trim(b.Provider, t.Context(), time.Now(), c.bytes))
		if got := names(); got != c.want {
			t.Errorf("with %d bytes: %s, want %s", c.bytes, got, c.want)
		}
	}
	if got := sh(t, running, `wc -c <"$HOME/go/pkg/mod/m/f"`).Out; strings.TrimSpace(got) != "1048576" {
		t.Errorf("the one in use reads %q", got)
	}
	must.Succeed(t, running.Stop(t.Context()))
	inUse = ""
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{process.MaxCacheAge - time.Hour, "running"}, {process.MaxCacheAge + time.Hour, ""}} {
		must.Succeed(t, process.Trim(b.Provider, t.Context(), time.Now().Add(c.after), process.MaxCacheBytes))
		if got := names(); got != c.want {
			t.Errorf("after %s: %q, want %q", c.after, got, c.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, ".caches/*")); len(left) > 0 && !strings.HasSuffix(left[0], "trimmed") {
		t.Errorf("left: %q", left)
	}
}

// TestTrimWhileStarting removes caches while sandboxes of the workspace start: none
// loses the directory that it writes to.
func TestTrimWhileStarting(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if err := process.Trim(b.Provider, t.Context(), time.Now(), 1); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 10 {
		s := b.start(t)
		if got := sh(t, s, `mkdir -p "$HOME/.m2/x" && echo kept >"$HOME/.m2/x/f" && sleep 0.02 && cat "$HOME/.m2/x/f"`).Out; got != "kept\n" {
			t.Errorf("%q", got)
		}
		must.Succeed(t, s.Stop(t.Context()))
	}
	close(done)
	wg.Wait()
}
