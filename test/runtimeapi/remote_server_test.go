package runtimeapi_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

const serverKey = "key-of-the-agent-server"

// TestRemoteAgentServer: an agent server whose conversations are in runtimes of a Runtime
// API; another server finds them, and they end with their conversations.
func TestRemoteAgentServer(t *testing.T) {
	t.Parallel()
	api := openWith(t, engine(t), "--sandbox", "docker")
	dir := t.TempDir()
	var at string
	do := func(t *testing.T, method, path string, body, to any) int {
		t.Helper()
		return request(t, method, at+path, map[string]string{"X-Session-API-Key": serverKey}, body, to)
	}
	serve := func(t *testing.T) {
		t.Helper()
		at = binary.ServeIn(t, dir, []string{"--sandbox", "remote", "--runtime-api", api.url, "--runtime-api-key-env", "KEY_OF_API", "--image", image, "--pull", "never"},
			"KEY_OF_API="+key, "OH_SESSION_API_KEYS_0="+serverKey).URL
	}
	inside := func(t *testing.T, id, text string) string {
		t.Helper()
		var out struct {
			Stdout, Stderr string
			ExitCode       int `json:"exit_code"`
		}
		status := do(t, "POST", "/api/conversations/"+id+"/bash/execute_bash_command", map[string]any{"command": text, "timeout": 60}, &out)
		if status != http.StatusOK || out.ExitCode != 0 {
			t.Fatalf("%s: %d %+v", text, status, out)
		}
		return strings.TrimSpace(out.Stdout)
	}
	const workspace = "/workspace/project"
	var id string
	t.Run("first server", func(t *testing.T) {
		serve(t)
		var made struct{ ID string }
		if status := do(t, "POST", "/api/conversations", map[string]any{
			"autotitle": false, "workspace": map[string]any{"working_dir": workspace},
			"agent": map[string]any{"kind": "Agent", "tools": []any{}, "llm": map[string]any{"model": "openai/mock", "api_key": "x"}},
		}, &made); status != http.StatusCreated {
			t.Fatalf("create: %d", status)
		}
		id = made.ID
		if got := inside(t, id, "pwd; echo text >file; env | grep -c -e "+key+" -e "+serverKey+"; true"); got != workspace+"\n0" {
			t.Errorf("inside: %q", got)
		}
		// Its files are reached through the sandbox.
		var files any
		if status := do(t, "GET", "/api/conversations/"+id+"/git/changes?path="+workspace, nil, &files); status >= 500 {
			t.Errorf("git changes: %d, %v", status, files)
		}
	})
	t.Run("projects of this machine", func(t *testing.T) {
		serve(t)
		project := t.TempDir()
		must.Succeed(t, os.WriteFile(filepath.Join(project, "AGENTS.md"), []byte("of another directory"), 0o600))
		for _, route := range []string{"skills", "plugins", "sub-agents", "hooks"} {
			var refused struct{ Detail string }
			if status := do(t, "POST", "/api/"+route, map[string]any{"project_dir": project}, &refused); status != http.StatusUnprocessableEntity || !strings.Contains(refused.Detail, "project_dir") {
				t.Errorf("%s of a project: %d %+v", route, status, refused)
			}
			if status := do(t, "POST", "/api/"+route, map[string]any{"load_public": false}, nil); status != http.StatusOK {
				t.Errorf("%s without a project: %d", route, status)
			}
		}
	})
	t.Run("second server", func(t *testing.T) {
		serve(t)
		if got := inside(t, id, "cat file"); got != "text" {
			t.Errorf("found again: %q", got)
		}
		if status := do(t, "DELETE", "/api/conversations/"+id, nil, nil); status != http.StatusOK && status != http.StatusNoContent {
			t.Errorf("delete: %d", status)
		}
		var all struct{ Runtimes []runtime }
		if api.do("GET", "/list", key, nil, &all); len(all.Runtimes) != 0 {
			t.Errorf("runtimes are left: %+v", all)
		}
	})
	if left, err := filepath.Glob(workspace); err != nil || len(left) > 0 {
		t.Errorf("%q was made on this machine, %v", left, err)
	}
}
