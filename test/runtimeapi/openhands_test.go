package runtimeapi_test

import (
	_ "embed" // for the request
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/deft-dev/deft/test/hostimage"
)

// startConversation is the body with which openhands-ai 1.11.0 starts a conversation in a
// sandbox of RUNTIME=remote: a dump of StartConversationRequest of openhands-sdk 1.34.0.
//
//go:embed testdata/start-conversation-1.11.0.json
var startConversation []byte

// TestOpenHands sends the requests of openhands-ai 1.11.0 with RUNTIME=remote, whose paths
// are in bodies and in the texts of commands: they hold in both kinds of sandboxes.
func TestOpenHands(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) (*server, map[string]any){
		"process": func(t *testing.T) (*server, map[string]any) { return open(t, "--ignore", ignored), nil },
		"docker": func(t *testing.T) (*server, map[string]any) {
			s := openWith(t, engine(t), "--sandbox", "docker")
			return s, map[string]any{"image": hostimage.Git(t, s.docker), "image_pull_policy": "Never"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, more := begin(t)
			r := s.beginOpenHands(more)
			const dir = "/workspace/project"
			for _, step := range []struct{ cwd, command, want string }{
				{"/workspace", "mkdir -p " + dir, ""},
				{dir, "git init && git config --global --add safe.directory " + dir, "Initialized empty Git repository in " + dir + "/.git/\n"},
				{"", "cd " + dir + " && pwd && echo text >file && cat " + dir + "/file", dir + "\ntext\n"},
			} {
				if got := r.bash(t, step.cwd, step.command); !strings.HasSuffix(got, step.want) {
					t.Errorf("%s: %q", step.command, got)
				}
			}
			var made struct {
				ID        string
				Workspace struct {
					Dir string `json:"working_dir"`
				}
				Detail any
			}
			if status := r.ask(t, "POST", "/api/conversations", json.RawMessage(startConversation), &made); status != http.StatusCreated || made.Workspace.Dir != dir {
				t.Fatalf("start: %d, %+v", status, made)
			}
			var changes []struct{ Path, Status string }
			if status := r.ask(t, "GET", "/api/git/changes?path="+url.QueryEscape(dir), nil, &changes); status != http.StatusOK || len(changes) != 1 || changes[0].Path != "file" {
				t.Errorf("changes: %d, %+v", status, changes)
			}
			if status := r.ask(t, "GET", "/api/file/download?path="+url.QueryEscape(dir+"/file"), nil, nil); status != http.StatusOK {
				t.Errorf("download: %d", status)
			}
			if status := r.ask(t, "DELETE", "/api/conversations/"+made.ID, nil, nil); status != http.StatusOK {
				t.Errorf("delete: %d", status)
			}
		})
	}
}

// beginOpenHands starts a runtime as openhands-ai 1.11.0 does.
func (s *server) beginOpenHands(more map[string]any) runtime {
	s.t.Helper()
	ask := map[string]any{
		"image": "ghcr.io/openhands/agent-server:1.34.0-python", "command": []string{"/usr/local/bin/openhands-agent-server", "--port", "60000"},
		"working_dir": "/workspace", "session_id": "5dYlLSJbXqPqNbDQXzDHFn", "resource_factor": 1,
		"run_as_user": 10001, "run_as_group": 10001, "fs_group": 10001,
		"environment": map[string]string{
			"OPENVSCODE_SERVER_ROOT": "/openhands/.openvscode-server", "LOG_JSON": "true", "OH_ENABLE_VNC": "0",
			"OH_CONVERSATIONS_PATH": "/workspace/conversations", "OH_BASH_EVENTS_DIR": "/workspace/bash_events", "OH_VSCODE_PORT": "60001",
			"WORKER_1": "12000", "WORKER_2": "12001",
		},
	}
	maps.Copy(ask, more)
	var r runtime
	if status := s.do("POST", "/start", key, ask, &r); status != http.StatusOK || r.Status != "running" || r.WorkingDir != "/workspace" {
		s.t.Fatalf("start: %d, %+v", status, r)
	}
	return r
}

// ask sends a request to the runtime's server.
func (r runtime) ask(t *testing.T, method, path string, body, to any) int {
	t.Helper()
	return request(t, method, r.URL+path, map[string]string{"X-Session-API-Key": r.SessionKey}, body, to)
}

// bash runs a command as openhands-sdk does, and returns its output.
func (r runtime) bash(t *testing.T, cwd, command string) string {
	t.Helper()
	body := map[string]any{"command": command, "timeout": 30}
	if cwd != "" {
		body["cwd"] = cwd
	}
	var out struct {
		Stdout, Stderr string
		Code           *int `json:"exit_code"`
	}
	if status := r.ask(t, "POST", "/api/bash/execute_bash_command", body, &out); status != http.StatusOK || out.Code == nil || *out.Code != 0 {
		t.Fatalf("%s: %d, %+v", command, status, out)
	}
	return out.Stdout
}
