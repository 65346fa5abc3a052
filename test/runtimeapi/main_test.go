package runtimeapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/test/binary"
)

func TestMain(m *testing.M) { os.Exit(binary.Run(m)) }

const (
	key      = "key-of-one"
	otherKey = "key-of-another"
)

// ignored are the fields that clients of OpenHands always send.
const ignored = "image,image_pull_policy,run_as_user,run_as_group,fs_group,runtime_class"

// server is a running Runtime API.
type server struct {
	t   *testing.T
	url string
	dir string
	cmd *exec.Cmd
	log string
	// docker is the engine's address; "" for none.
	docker string
}

var listens = regexp.MustCompile(`runtime API on (http://\S+)`)

// open starts a server in a directory of its own. It and its runtimes end with the test.
func open(t *testing.T, args ...string) *server {
	t.Helper()
	return openWith(t, "", args...)
}

// openWith is open with a Docker engine.
func openWith(t *testing.T, docker string, args ...string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{t: t, dir: dir, log: filepath.Join(dir, "log"), docker: docker}
	t.Cleanup(s.end)
	s.start(args...)
	return s
}

func (s *server) start(args ...string) {
	s.t.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must.Succeed(s.t, err)
	defer log.Close()
	out, err := os.Create(filepath.Join(s.dir, "out"))
	must.Succeed(s.t, err)
	defer out.Close()
	s.cmd = exec.Command(binary.Path(), append([]string{"runtime-api", "--port", "0"}, args...)...)
	s.cmd.Env = []string{
		"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "DEFT_DATA=" + filepath.Join(s.dir, "data"),
		"DEFT_RUNTIME_API_KEYS=one " + key + " 400\nanother " + otherKey + " 1", "OF_THE_SERVER=secret", "DOCKER_HOST=" + s.docker,
	}
	s.cmd.Stdout, s.cmd.Stderr = out, log
	must.Succeed(s.t, s.cmd.Start())
	waittest.Until(s.t, "the server listens", func() bool {
		raw, err := os.ReadFile(out.Name())
		must.Succeed(s.t, err)
		if m := listens.FindSubmatch(raw); m != nil {
			s.url = string(m[1])
			return true
		}
		if ended(s.cmd.Process.Pid) {
			said, _ := os.ReadFile(s.log)
			s.t.Fatalf("the server did not start: %s", said)
		}
		return false
	})
}

// kill ends the server at once.
func (s *server) kill() {
	s.t.Helper()
	must.Succeed(s.t, s.cmd.Process.Kill())
	_ = s.cmd.Wait() // killed
}

// end stops all runtimes, and the server.
func (s *server) end() {
	for _, k := range []string{key, otherKey} {
		var all struct{ Runtimes []runtime }
		s.do("GET", "/list", k, nil, &all)
		for _, r := range all.Runtimes {
			s.do("POST", "/stop", k, map[string]any{"runtime_id": r.ID}, nil)
		}
	}
	must.Report(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v", err)
	}
	said, err := os.ReadFile(s.log)
	must.Report(s.t, err)
	for _, secret := range []string{"panic", "goroutine ", key, otherKey} {
		if strings.Contains(string(said), secret) {
			s.t.Errorf("the log has %q", secret)
		}
	}
	if s.t.Failed() {
		s.t.Logf("the server said:\n%s", said[max(0, len(said)-4000):])
	}
	if left, err := os.ReadDir(filepath.Join(s.dir, "data/runtime-api/workspaces")); err != nil || len(left) > 0 {
		s.t.Errorf("workspaces are left: %v, %v", left, err)
	}
}

type runtime struct {
	ID         string   `json:"runtime_id"`
	URL        string   `json:"url"`
	SessionKey string   `json:"session_api_key"`
	SessionID  string   `json:"session_id"`
	Status     string   `json:"status"`
	PodStatus  string   `json:"pod_status"`
	Restarts   int      `json:"restart_count"`
	Reasons    []string `json:"restart_reasons"`
	WorkingDir string   `json:"working_dir"`
	Detail     string   `json:"detail"`
}

// do sends a request to the Runtime API, and returns the status.
func (s *server) do(method, path, apiKey string, body, to any) int {
	s.t.Helper()
	return request(s.t, method, s.url+path, map[string]string{"X-API-Key": apiKey}, body, to)
}

func request(t *testing.T, method, url string, headers map[string]string, body, to any) int {
	t.Helper()
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Error(err)
			return 0
		}
		r = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		t.Error(err)
		return 0
	}
	for name, value := range headers {
		q.Header.Set(name, value)
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
		return 0
	}
	if to != nil {
		if err := json.Unmarshal(raw, to); err != nil {
			t.Errorf("%s %s: %s is no JSON: %v", method, url, raw, err)
		}
	}
	return answer.StatusCode
}

// action and agent are the commands of OpenHands' clients.
var (
	action = []string{
		"/openhands/micromamba/bin/micromamba", "run", "-n", "openhands", "poetry", "run", "python", "-u", "-m",
		"openhands.runtime.action_execution_server", "60000", "--working-dir", "/workspace", "--plugins", "agent_skills", "jupyter",
		"--username", "openhands", "--user-id", "1000", "--no-enable-browser",
	}
	agent = "/usr/local/bin/openhands-agent-server --port 60000"
)

// begin starts a runtime.
func (s *server) begin(session string, command any) runtime {
	s.t.Helper()
	var r runtime
	status := s.do("POST", "/start", key, map[string]any{
		"image": "ghcr.io/openhands/agent-server:latest", "command": command, "working_dir": "/", "session_id": session,
		"environment": map[string]string{"OF_THE_CLIENT": "yes"}, "run_as_user": 10001, "fs_group": 10001, "image_pull_policy": "IfNotPresent",
	}, &r)
	if status != http.StatusOK || r.Status != "running" || r.PodStatus != "ready" || r.SessionID != session || r.SessionKey == "" {
		s.t.Fatalf("start: %d, %+v", status, r)
	}
	return r
}

// run runs a command in an action server, and returns its output.
func (r runtime) run(t *testing.T, command string) string {
	t.Helper()
	var o struct{ Content, Observation string }
	status := request(t, "POST", r.URL+"/execute_action", map[string]string{"X-Session-API-Key": r.SessionKey},
		map[string]any{"action": map[string]any{"action": "run", "args": map[string]any{"command": command}}}, &o)
	if status != http.StatusOK || o.Observation != "run" {
		t.Fatalf("%s: %d, %+v", command, status, o)
	}
	return o.Content
}

func command(path string, args, env []string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Env = env
	return cmd
}

// endSandbox kills the program of a runtime's sandbox.
func (s *server) endSandbox(id string) {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dir, "data/runtime-api/sandboxes", id, "state.json"))
	must.Succeed(s.t, err)
	var state struct{ PID int }
	if err := json.Unmarshal(raw, &state); err != nil || state.PID < 2 {
		s.t.Fatalf("%s: %v", raw, err)
	}
	must.Succeed(s.t, syscall.Kill(state.PID, syscall.SIGKILL))
}
