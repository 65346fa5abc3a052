package realpath_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/realpath"
)

func tree(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	ws := filepath.Join(dir, "ws")
	must.Succeed(t, os.MkdirAll(filepath.Join(ws, "sub"), 0o700))
	for name, to := range map[string]string{
		"out": "/etc", "up": "..", "in": filepath.Join(ws, "sub"), "dangling": "/nonexistent/x", "loop": "loop", "danglingin": "sub/new",
	} {
		must.Succeed(t, os.Symlink(to, filepath.Join(ws, name)))
	}
	return ws
}

func TestInside(t *testing.T) {
	t.Parallel()
	ws := tree(t)
	for path, want := range map[string]bool{
		ws: true, ws + "/": true, ws + "/sub": true, ws + "/new/file": true, ws + "/in/x": true, ws + "/danglingin": true,
		ws + "/sub/../x": true, ws + "/sub/../../ws/x": true,
		ws + "x": false, ws + "/..": false, ws + "/out/passwd": false, ws + "/out": false, ws + "/up/x": false,
		ws + "/dangling": false, ws + "/dangling/y": false, "/": false, "/etc/passwd": false,
		ws + "/a\x00b": false, filepath.Dir(ws): false,
	} {
		if got := realpath.Inside(ws, path); got != want {
			t.Errorf("%q: inside is %v", path, got)
		}
	}
	if got := realpath.Resolve(ws + "/loop/x"); !strings.HasSuffix(got, "/x") {
		t.Errorf("a loop resolves to %q", got)
	}
}

func FuzzInside(f *testing.F) {
	for _, s := range []string{"sub", "../x", "out/passwd", "in/../../..", "dangling", "loop/a", "\x00", "up/ws/sub"} {
		f.Add(s)
	}
	ws := tree(f)
	f.Fuzz(func(t *testing.T, rel string) {
		path := ws + "/" + rel
		if !realpath.Inside(ws, path) {
			return
		}
		real, err := filepath.EvalSymlinks(path)
		if err == nil && real != ws && !strings.HasPrefix(real, ws+"/") {
			t.Errorf("%q is %q, which is outside", path, real)
		}
	})
}
