package info_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/server/agentserver/info"
	"github.com/deft-dev/deft/server/rest"
)

func server(t *testing.T, o info.Options) *rest.Server {
	t.Helper()
	o.Uptime = func() (up, idle time.Duration) { return 90 * time.Second, 1500 * time.Millisecond }
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	s, err := info.New(o)
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, s.Close()) })
	// The keys prove that the routes are open.
	h, err := rest.New(rest.Options{Routes: s.Routes(), Keys: func() []string { return []string{"k"} }})
	must.Succeed(t, err)
	return h
}

func get(t *testing.T, h *rest.Server, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
	return w.Code, w.Body.String()
}

// TestInfo compares the answer with the answer of the reference 1.58.0, field by
// field and in its order.
func TestInfo(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OH_RUNTIME_IDLE_TIMEOUT_SECONDS": "100", "OPENHANDS_BUILD_GIT_REF": "main", "OPENHANDS_BUILD_GIT_SHA": "abc"}
	h := server(t, info.Options{
		Version: "1.2.3", Tools: []string{"grep", "mine", "terminal", "file_editor"},
		Capabilities: []string{"skill_catalog_v1", "tool_catalog_v1"}, Env: func(k string) string { return env[k] },
	})
	code, got := get(t, h, "/server_info")
	before, after, _ := strings.Cut(got, `"python_version":"`)
	_, after, _ = strings.Cut(after, `",`)
	want := `{"uptime":90.0,"idle_time":1.0,"title":"OpenHands Agent Server","version":"1.58.0","sdk_version":"1.58.0","tools_version":"1.58.0",` +
		`"workspace_version":"1.58.0","build_git_sha":"abc","build_git_ref":"main","usable_tools":["file_editor","terminal","grep","mine"],` +
		`"runtime_idle_timeout_seconds":100,"conversation_runtime":"local","available_conversation_runtimes":[],` +
		`"capabilities":["tool_catalog_v1","skill_catalog_v1"],"app_backend_ingress_url":null,` +
		`"max_foreground_terminal_timeout_seconds":90,"docs":"/docs","redoc":"/redoc","deft_version":"1.2.3"}`
	if d := cmp.Diff(want, before+after); code != 200 || d != "" {
		t.Errorf("%d %s", code, d)
	}
	if _, root := get(t, h, "/"); root != got {
		t.Errorf("the root answers %s", root)
	}
}

func TestNothingUsable(t *testing.T) {
	t.Parallel()
	_, got := get(t, server(t, info.Options{}), "/server_info")
	var v map[string]any
	must.Succeed(t, json.Unmarshal([]byte(got), &v))
	for _, list := range []string{"usable_tools", "capabilities"} { // clients iterate over them
		if d := cmp.Diff([]any{}, v[list]); d != "" {
			t.Errorf("%s: %s", list, d)
		}
	}
}

func TestWell(t *testing.T) {
	t.Parallel()
	ready := false
	h := server(t, info.Options{Ready: func() bool { return ready }})
	want := func(path string, code int, body string) {
		t.Helper()
		if c, b := get(t, h, path); c != code || b != body {
			t.Errorf("%s: %d %s, want %d %s", path, c, b, code, body)
		}
	}
	want("/alive", 200, `{"status":"ok"}`)
	want("/health", 200, `{"status":"ok"}`)
	want("/ready", 503, `{"message":"Server is still initializing","status":"initializing"}`)
	ready = true
	want("/ready", 200, `{"status":"ready"}`)
	want("/static/x", 404, `{"detail":"Not Found"}`)
}

// TestStatic serves files of the directory, and nothing that links lead to
// outside of it.
func TestStatic(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	dir := filepath.Join(outer, "static")
	testtree.Write(t, outer, map[string]string{"static/index.html": "hello", "static/a/b.css": "css", "secret": "no"})
	must.Succeed(t, os.Symlink("../secret", filepath.Join(dir, "link")))
	h := server(t, info.Options{Static: dir})
	for path, want := range map[string]string{
		"/static/index.html": "hello", "/static/a/b.css": "css", "/static/a": `{"detail":"Not Found"}`, "/static/": `{"detail":"Not Found"}`,
		"/static/link": `{"detail":"Not Found"}`, "/static/..%2fsecret": `{"detail":"Not Found"}`, "/static/%00": `{"detail":"Not Found"}`,
	} {
		if _, got := get(t, h, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	if w.Code != 302 || w.Header().Get("Location") != "/static/index.html" {
		t.Errorf("the root: %d to %s", w.Code, w.Header().Get("Location"))
	}
	if _, err := info.New(info.Options{Static: filepath.Join(dir, "nowhere")}); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
}
