package search_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/internal/search"
)

func tree(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	for _, name := range names {
		path := filepath.Join(root, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, nil, 0o644))
	}
	return root
}

func walk(t *testing.T, root string) []string {
	t.Helper()
	got := []string{}
	if err := search.Walk(t.Context(), root, func(rel string) error {
		got = append(got, rel)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	return got
}

func TestWalk(t *testing.T) {
	t.Parallel()
	root := tree(t, "a", "d/b", "d/e/c", ".h/x", ".git/y", "d/node_modules/z", "f/.venv/q")
	for link, to := range map[string]string{"loop": ".", "d/up": "..", "l": "a", "broken": "nowhere"} {
		must.Succeed(t, os.Symlink(to, filepath.Join(root, link)))
	}
	must.Succeed(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	if diff := cmp.Diff([]string{".h/x", "a", "d/b", "d/e/c"}, walk(t, root)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"z"}, walk(t, filepath.Join(root, "d/node_modules"))); diff != "" {
		t.Errorf("a skipped directory as root (-want +got):\n%s", diff)
	}
	if got := walk(t, "/proc"); len(got) != 0 {
		t.Errorf("%d files of /proc", len(got))
	}
}

func TestWalkEndsEarly(t *testing.T) {
	t.Parallel()
	root := tree(t, "a", "b/c")
	stop := errors.New("stop")
	if err := search.Walk(t.Context(), root, func(string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := search.Walk(ctx, root, func(string) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestNewestKeepsTheNewest(t *testing.T) {
	t.Parallel()
	root := tree(t, "a", "b", "c", "d")
	for i, name := range []string{"c", "a", "d", "b"} {
		at := time.Unix(int64(1000-i/2), 0) // c and a are as old as each other, d and b too
		must.Succeed(t, os.Chtimes(filepath.Join(root, name), at, at))
	}
	n := search.NewNewest(3)
	for _, name := range []string{"d", "b", "missing", "a", "c"} {
		n.Add(filepath.Join(root, name))
	}
	want := []string{filepath.Join(root, "a"), filepath.Join(root, "c"), filepath.Join(root, "b")}
	if diff := cmp.Diff(want, n.Paths()); diff != "" || n.Total() != 4 {
		t.Errorf("total %d, paths (-want +got):\n%s", n.Total(), diff)
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	root := tree(t, "d/f")
	must.Succeed(t, os.Symlink("d", filepath.Join(root, "link")))
	for path, want := range map[string]string{"": root, "d": root + "/d", "link": root + "/d", root + "/d/..": root} {
		if got, _, err := search.Root(root, path, false); err != nil || got != want {
			t.Errorf("%q is %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"missing", "d/f", "a\x00", "/proc/self", "/sys"} {
		if _, _, err := search.Root(root, path, false); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, info, err := search.Root(root, "d/f", true); err != nil || info.IsDir() {
		t.Errorf("a file where files are allowed: %v", err)
	}
}

// FuzzPattern checks that no pattern makes the matcher panic or run for long.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"*.go", "**/x", "{a,b}", "[a-z]*", "\\", "{{{,},},}", "**/**/**/**/x"} {
		f.Add(s, "src/deep/file.go")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := search.ParsePattern(pattern)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%v", err)
			}
			return
		}
		p.Match(path)
	})
}
