package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

const key = "key-of-the-bench"

// action and agent are the commands of OpenHands' clients.
var (
	action = []string{"python", "-m", "openhands.runtime.action_execution_server", "60000", "--working-dir", "/workspace"}
	agent  = []string{"/usr/local/bin/openhands-agent-server", "--port", "60000"}
)

// server is a running Runtime API.
type server struct {
	cmd   *exec.Cmd
	url   string
	dir   string
	image string
}

type runtime struct {
	ID         string `json:"runtime_id"`
	URL        string `json:"url"`
	SessionKey string `json:"session_api_key"`
	Detail     string `json:"detail"`
}

var listens = regexp.MustCompile(`runtime API on (http://\S+)`)

// start starts a server with a pool.
func start(ctx context.Context, bin, docker, image string, pool int) (*server, error) {
	dir, err := os.MkdirTemp("", "deft-bench-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // users of containers enter it
		return nil, err
	}
	s := &server{dir: dir}
	args := []string{"runtime-api", "--port", "0", "--quota", "0"}
	members := "[]"
	if docker != "" {
		s.image = image
		args = append(args, "--sandbox", "docker")
	}
	if pool > 0 {
		members = fmt.Sprintf(`[{"image": %q, "size": %d}]`, s.image, pool)
	}
	if err := os.WriteFile(filepath.Join(dir, "pool.json"), []byte(members), 0o600); err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	s.cmd = exec.CommandContext(ctx, bin, append(args, "--pool", filepath.Join(dir, "pool.json"))...)
	s.cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "DEFT_DATA=" + filepath.Join(dir, "data"), "DEFT_RUNTIME_API_KEYS=" + key, "DOCKER_HOST=" + docker}
	s.cmd.Stdout, s.cmd.Stderr = out, out
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		raw, err := os.ReadFile(out.Name())
		if err != nil {
			return nil, err
		}
		if m := listens.FindSubmatch(raw); m != nil {
			s.url = string(m[1])
			return s, nil
		}
		if time.Now().After(deadline) {
			return nil, s.end(fmt.Errorf("the server does not start: %s", raw))
		}
	}
}

// end ends the server and its runtimes.
func (s *server) end(err error) error {
	var all struct{ Runtimes []runtime }
	if s.url != "" {
		err = errors.Join(err, s.do(context.Background(), "GET", s.url+"/list", "X-API-Key", key, nil, &all))
		for _, r := range all.Runtimes {
			err = errors.Join(err, s.stop(context.Background(), r))
		}
	}
	return errors.Join(err, s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait(), os.RemoveAll(s.dir))
}

func (s *server) begin(ctx context.Context, session string, command []string) (r runtime, err error) {
	ask := map[string]any{"command": command, "session_id": session}
	if s.image != "" {
		ask["image"] = s.image
	}
	return r, s.do(ctx, "POST", s.url+"/start", "X-API-Key", key, ask, &r)
}

func (s *server) stop(ctx context.Context, r runtime) error {
	return s.do(ctx, "POST", s.url+"/stop", "X-API-Key", key, map[string]string{"runtime_id": r.ID}, nil)
}

// first runs a command in a runtime.
func (r runtime) first(ctx context.Context, command []string) error {
	path, ask := "/execute_action", any(map[string]any{"action": map[string]any{"action": "run", "args": map[string]any{"command": "true"}}})
	if &command[0] == &agent[0] {
		path, ask = "/api/bash/execute_bash_command", map[string]any{"command": "true"}
	}
	return (&server{}).do(ctx, "POST", r.URL+path, "X-Session-API-Key", r.SessionKey, ask, nil)
}

// await waits until the pool has so many sandboxes.
func (s *server) await(ctx context.Context, ready int) error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		n, err := s.metric(ctx, "deft_pool_ready")
		if err != nil || n >= ready {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the pool has %d sandboxes, not %d", n, ready)
		}
	}
}

// metric returns the value of a metric, 0 if there is no pool.
func (s *server) metric(ctx context.Context, name string) (int, error) {
	var text []byte
	if err := s.do(ctx, "GET", s.url+"/metrics", "X-API-Key", key, nil, &text); err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^` + name + `\{.*\} (\d+)$`).FindSubmatch(text)
	if m == nil {
		return 0, nil
	}
	return strconv.Atoi(string(m[1]))
}

// do sends a request and reads the answer, as JSON or as it is.
func (s *server) do(ctx context.Context, method, url, header, value string, body, to any) error {
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(raw)
	}
	q, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		return err
	}
	q.Header.Set(header, value)
	q.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d, %s", method, url, answer.StatusCode, raw)
	}
	switch to := to.(type) {
	case nil:
		return nil
	case *[]byte:
		*to = raw
		return nil
	default:
		return json.Unmarshal(raw, to)
	}
}
