package settings_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/settings"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings/workspaces"
)

// serveWorkspaces serves a directory; the function makes a request and returns
// "status body".
func serveWorkspaces(t *testing.T, dir string) func(method, path, body string) (int, string) {
	t.Helper()
	h, err := rest.New(rest.Options{Routes: settings.Workspaces(workspaces.New(dir)), Keys: func() []string { return nil }})
	must.Succeed(t, err)
	return func(method, path, body string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
}

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	do := serveWorkspaces(t, dir)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/workspaces", "", 200, `{"workspaces":[],"workspaceParents":[]}`},
		{"DELETE", "/api/workspaces?path=/a", "", 404, `{"detail":"Workspace not found"}`},
		{"POST", "/api/workspaces", `{"workspaces":[{"id":"/a","name":"a","path":"/a","parentPath":"/","x":1},{"id":"2","name":"again","path":"/a"}]}`, 200,
			`{"workspaces":[{"id":"/a","name":"a","path":"/a","parentPath":"/"}],"workspaceParents":[]}`},
		{"POST", "/api/workspaces/parents", `{"parents":[{"id":"/","name":"root","path":"/"}]}`, 200,
			`{"workspaces":[{"id":"/a","name":"a","path":"/a","parentPath":"/"}],"workspaceParents":[{"id":"/","name":"root","path":"/"}]}`},
		{"DELETE", "/api/workspaces?path=/a", "", 200, `{"deleted":true}`},
		{"GET", "/api/workspaces", "", 200, `{"workspaces":[],"workspaceParents":[{"id":"/","name":"root","path":"/"}]}`},
	} {
		if status, got := do(c.method, c.path, c.body); status != c.status || got != c.want {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, status, got, c.status, c.want)
		}
	}
}

func TestABrokenWorkspacesFileStays(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"{", "[]", `{"schema_version":2}`, `{"workspaces":[{}]}`, ""} {
		dir := t.TempDir()
		path := filepath.Join(dir, "workspaces.json")
		must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
		do := serveWorkspaces(t, dir)
		for _, c := range [][3]string{
			{"GET", "/api/workspaces", ""}, {"DELETE", "/api/workspaces?path=/a", ""},
			{"POST", "/api/workspaces", `{"workspaces":[{"id":"/a","name":"a","path":"/a"}]}`},
		} {
			if status, got := do(c[0], c[1], c[2]); status != 409 {
				t.Errorf("%q: %s: %d %s", content, c[0], status, got)
			}
		}
		if raw, err := os.ReadFile(path); err != nil || string(raw) != content {
			t.Errorf("%q was written over with %q", content, raw)
		}
	}
}
