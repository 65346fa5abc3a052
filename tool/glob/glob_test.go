package glob_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/glob"
)

func write(t *testing.T, root, name string, age int) {
	t.Helper()
	path := filepath.Join(root, name)
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Succeed(t, os.WriteFile(path, nil, 0o644))
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Second)
	must.Succeed(t, os.Chtimes(path, at, at))
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	return dir
}

func run(ctx context.Context, t *testing.T, x tool.Executor, pattern, path string) *event.GlobObservation {
	t.Helper()
	obs, err := x.Execute(ctx, tool.Call{Action: &event.GlobAction{Pattern: pattern, Path: &path}})
	must.Succeed(t, err)
	return obs.(*event.GlobObservation)
}

func TestGlob(t *testing.T) {
	t.Parallel()
	dir := root(t)
	for i, name := range []string{"b.go", "a.go", "src/a_test.go", "src/deep/x.ts", "src/deep/y.tsx", ".github/ci.yml", "node_modules/m/i.go", ".git/config", "ignored.log"} {
		write(t, dir, name, 10-i)
	}
	write(t, dir, "same1.txt", 50)
	write(t, dir, "same0.txt", 50)
	write(t, dir, ".gitignore", 60)
	must.Succeed(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n"), 0o644))
	must.Succeed(t, os.Symlink("..", filepath.Join(dir, "src", "loop")))
	x := glob.New(glob.Config{Workspace: dir})
	tests := []struct {
		pattern, path string
		want          []string
	}{
		{"*.go", "", []string{"src/a_test.go", "a.go", "b.go"}},
		{"./*.go", "", []string{"src/a_test.go", "a.go", "b.go"}},
		{"**/*.{ts,tsx}", "", []string{"src/deep/y.tsx", "src/deep/x.ts"}},
		{"src/*", "", []string{"src/a_test.go"}},
		{"src/**", "", []string{"src/deep/y.tsx", "src/deep/x.ts", "src/a_test.go"}},
		{"*", "src/deep", []string{"src/deep/y.tsx", "src/deep/x.ts"}},
		{dir + "/src/**/*.ts", "", []string{"src/deep/x.ts"}},
		{".github/*", "", []string{".github/ci.yml"}},
		{"*.log", "", []string{"ignored.log"}},
		{"i.go", "node_modules", []string{"node_modules/m/i.go"}},
		{"same?.txt", "", []string{"same0.txt", "same1.txt"}},
		{"none", "", []string{}},
	}
	for _, tc := range tests {
		t.Run(tc.pattern+" in "+tc.path, func(t *testing.T) {
			t.Parallel()
			obs := run(t.Context(), t, x, tc.pattern, tc.path)
			if obs.IsError || obs.Truncated {
				t.Fatalf("error or truncated: %s", event.JoinText(obs.Content))
			}
			got := []string{}
			for _, f := range obs.Files {
				rel, err := filepath.Rel(dir, f)
				must.Succeed(t, err)
				got = append(got, rel)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadInputIsExplained(t *testing.T) {
	t.Parallel()
	dir := root(t)
	write(t, dir, "file", 0)
	x := glob.New(glob.Config{Workspace: dir})
	for _, tc := range [][3]string{
		{"", "", "pattern is empty"},
		{"[a", "", "not valid"},
		{"../x", "", "lead out of"},
		{strings.Repeat("{a,b}", 30), "", "more than 8 choices"},
		{"*", "missing", "does not exist"},
		{"*", "file", "not a directory"},
		{"*", "/proc", "file system of the kernel"},
		{"/sys/**", "", "file system of the kernel"},
	} {
		obs := run(t.Context(), t, x, tc[0], tc[1])
		if got := event.JoinText(obs.Content); !obs.IsError || !strings.Contains(got, tc[2]) {
			t.Errorf("%q in %q: %q does not say %q", tc[0], tc[1], got, tc[2])
		}
	}
}

func TestLimitsAreTold(t *testing.T) {
	t.Parallel()
	dir := root(t)
	for i := range glob.MaxResults + 5 {
		write(t, dir, fmt.Sprintf("f%03d", i), i)
	}
	obs := run(t.Context(), t, glob.New(glob.Config{Workspace: dir}), "f*", "")
	if !obs.Truncated || len(obs.Files) != glob.MaxResults || obs.Files[0] != filepath.Join(dir, "f000") || !strings.Contains(event.JoinText(obs.Content), "105 files") {
		t.Errorf("truncated %v, %d files: %s", obs.Truncated, len(obs.Files), event.JoinText(obs.Content))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if obs := run(ctx, t, glob.New(glob.Config{Workspace: dir}), "f*", ""); !obs.Truncated || !strings.Contains(event.JoinText(obs.Content), "interrupted") {
		t.Errorf("interrupted: %+v", obs)
	}
	slow := glob.New(glob.Config{Workspace: dir, Timeout: time.Nanosecond})
	if obs := run(t.Context(), t, slow, "f*", ""); !obs.Truncated || !strings.Contains(event.JoinText(obs.Content), "stopped after") {
		t.Errorf("timeout: %+v", obs)
	}
}
