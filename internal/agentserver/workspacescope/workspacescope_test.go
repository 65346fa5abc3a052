package workspacescope_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/workspacescope"
	"github.com/deft-dev/deft/schema"
)

func tree(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(dir, "ws")
	if err := os.MkdirAll(filepath.Join(ws, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"out": "/etc", "up": "..", "in": filepath.Join(ws, "sub"), "dangling": "/nonexistent/x", "loop": "loop", "danglingin": "sub/new",
	} {
		if err := os.Symlink(to, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
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
		if got := workspacescope.Inside(ws, path); got != want {
			t.Errorf("%q: inside is %v", path, got)
		}
	}
	if got := workspacescope.Resolve(ws + "/loop/x"); !strings.HasSuffix(got, "/x") {
		t.Errorf("a loop resolves to %q", got)
	}
}

// TestRepeatedPath wants the path that is looked at to be the one that is used.
func TestRepeatedPath(t *testing.T) {
	t.Parallel()
	ws := tree(t)
	routes := workspacescope.WorkspaceOf(func(context.Context, string) (string, error) { return ws, nil }).Routes([]rest.Route{{
		Method: "GET", Path: "/api/file", Handle: func(w http.ResponseWriter, r *http.Request) error {
			return rest.JSON(w, http.StatusOK, rest.QueryOf(r).String("path", ""))
		},
	}})
	s, err := rest.New(rest.Options{Routes: routes, Keys: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{
		"path=" + ws: 200, "path=/etc&path=" + ws: 200, "path=" + ws + "&path=/etc": 422, "path=": 422, "": 200,
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/conversations/"+strings.Repeat("0", 32)+"/file?"+query, nil))
		if w.Code != want || strings.Contains(w.Body.String(), "/etc") {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// TestQuotes wants the answer to a bad body to say what was in it, as beside a
// conversation.
func TestQuotes(t *testing.T) {
	t.Parallel()
	ws := tree(t)
	routes := workspacescope.WorkspaceOf(func(context.Context, string) (string, error) { return ws, nil }).Routes([]rest.Route{{
		Method: "POST", Path: "/api/x", Handle: func(_ http.ResponseWriter, r *http.Request) error {
			if _, err := rest.Raw(r); err != nil {
				return err
			}
			return schema.Missing("body", "a")
		},
	}})
	s, err := rest.New(rest.Options{Routes: routes, Keys: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/api/conversations/"+strings.Repeat("0", 32)+"/x", strings.NewReader(`{"b":1}`)))
	if w.Code != 422 || !strings.Contains(w.Body.String(), `"input":{"b":1}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func FuzzInside(f *testing.F) {
	for _, s := range []string{"sub", "../x", "out/passwd", "in/../../..", "dangling", "loop/a", "\x00", "up/ws/sub"} {
		f.Add(s)
	}
	ws := tree(f)
	f.Fuzz(func(t *testing.T, rel string) {
		path := ws + "/" + rel
		if !workspacescope.Inside(ws, path) {
			return
		}
		real, err := filepath.EvalSymlinks(path)
		if err == nil && real != ws && !strings.HasPrefix(real, ws+"/") {
			t.Errorf("%q is %q, which is outside", path, real)
		}
	})
}
