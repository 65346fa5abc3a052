// Package containers runs the built binary with a real Docker engine: conversations of
// the agent server in containers.
//
// # Usage
//
//	go test ./test/containers
//	DEFT_BIN=$PWD/bin/deft go test ./test/containers
//
// It needs an engine, DOCKER_HOST's or the one that `make deps` starts, and its image
// with busybox. Without one it skips, but not in CI.
package containers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

func TestMain(m *testing.M) { os.Exit(binary.Run(m)) }

const image = "deft-test-busybox:1"

// engine returns a client of the engine, and its address.
func engine(t *testing.T) (*client.Client, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = os.Getenv("DEFT_TEST_DOCKER")
	}
	c, err := client.New(client.WithHost(host))
	if err == nil {
		t.Cleanup(func() { c.Close() })
		_, err = c.Ping(ctx, client.PingOptions{})
	}
	switch {
	case err == nil && host != "":
		return c, host
	case os.Getenv("CI") == "true":
		t.Fatalf("no Docker engine: %v", err)
	}
	t.Skipf("no Docker engine: %v", err)
	return nil, ""
}

// server is a running agent server.
type server struct{ binary.Server }

const key = "a-key-of-the-test"

func serve(t *testing.T, dir, host string, more ...string) server {
	t.Helper()
	return server{binary.ServeIn(t, dir, []string{"--sandbox", "docker", "--image", image, "--pull", "never", "--memory", "1G", "--pids", "200", "--cpus", "1"},
		append([]string{"DOCKER_HOST=" + host, "OH_SESSION_API_KEYS_0=" + key}, more...)...)}
}

// do sends a request and reads the answer into out.
func (s server) do(t *testing.T, method, path string, body, out any) (status int) {
	t.Helper()
	raw, err := json.Marshal(body)
	must.Succeed(t, err)
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, bytes.NewReader(raw))
	must.Succeed(t, err)
	r.Header.Set("X-Session-API-Key", key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer answer.Body.Close()
	if raw, err = io.ReadAll(answer.Body); err != nil {
		t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			t.Fatalf("%s %s: %s: %s", method, path, answer.Status, raw)
		}
	}
	return answer.StatusCode
}

// create makes a conversation and returns its id.
func (s server) create(t *testing.T, workspace string, more map[string]any) (id string) {
	t.Helper()
	body := map[string]any{
		"autotitle": false, "worktree": false, "workspace": map[string]any{"working_dir": workspace},
		"agent": map[string]any{"kind": "Agent", "tools": []any{}, "llm": map[string]any{"model": "openai/mock", "api_key": "x"}},
	}
	maps.Copy(body, more)
	var made struct{ ID string }
	if status := s.do(t, "POST", "/api/conversations", body, &made); status != http.StatusCreated {
		t.Fatalf("create: %d", status)
	}
	return made.ID
}

// command runs a command in a conversation's container.
func (s server) command(t *testing.T, id, text string) string {
	t.Helper()
	var out struct {
		Stdout, Stderr string
		ExitCode       int `json:"exit_code"`
	}
	status := s.do(t, "POST", "/api/conversations/"+id+"/bash/execute_bash_command", map[string]any{"command": text, "timeout": 60}, &out)
	if status != http.StatusOK || out.ExitCode != 0 && out.Stderr != "" {
		t.Fatalf("%s: %d %+v", text, status, out)
	}
	return strings.TrimSpace(out.Stdout)
}

// container is the engine's id of the container of a conversation, "" for none.
func container(t *testing.T, c *client.Client, id string) string {
	t.Helper()
	label := "dev.deft.sandbox=" + strings.ReplaceAll(id, "-", "")
	found, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", label)})
	must.Succeed(t, err)
	if len(found.Items) == 0 {
		return ""
	}
	return found.Items[0].ID
}

// TestAgentServer: a container for each conversation, which another server finds, which
// may go at any time, and which ends with its conversation.
func TestAgentServer(t *testing.T) {
	t.Parallel()
	c, host := engine(t)
	dir := t.TempDir()
	one, two := filepath.Join(dir, "workspace", "project", "one"), filepath.Join(dir, "workspace", "project", "two")
	for _, ws := range []string{one, two} {
		must.Succeed(t, os.MkdirAll(ws, 0o755))
	}
	must.Succeed(t, os.WriteFile(filepath.Join(two, "private"), []byte("of another conversation"), 0o600))
	var id, first string
	t.Run("first server", func(t *testing.T) {
		s := serve(t, dir, host)
		id = s.create(t, one, nil)
		if got := s.command(t, id, "busybox | head -1 | cut -d' ' -f1; pwd; echo text >file; echo lost >/tmp/kept; ls /root/.ssh "+two+" 2>&1 | grep -c 'No such'"); got != "BusyBox\n"+one+"\n2" {
			t.Errorf("inside: %q", got)
		}
		if raw, err := os.ReadFile(filepath.Join(one, "file")); err != nil || string(raw) != "text\n" {
			t.Errorf("outside: %q, %v", raw, err)
		}
		if got := s.command(t, id, "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c "+key+"; true"); got != "0" {
			t.Errorf("the server's key is inside %s times", got)
		}
		if first = container(t, c, id); first == "" {
			t.Error("there is no container")
		}
		var info struct {
			Runtime string `json:"conversation_runtime"`
		}
		if s.do(t, "GET", "/server_info", nil, &info); info.Runtime != "docker" {
			t.Errorf("conversation_runtime is %s", info.Runtime)
		}
	})
	t.Run("second server", func(t *testing.T) {
		s := serve(t, dir, host, "OH_CONVERSATION_RUNTIME=docker")
		if got := s.command(t, id, "cat /tmp/kept file"); got != "lost\ntext" || container(t, c, id) != first {
			t.Errorf("the container was not found again: %q", got)
		}
		if _, err := c.ContainerRemove(t.Context(), first, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		// That it has gone is noticed by the next command, which may fail.
		s.do(t, "POST", "/api/conversations/"+id+"/bash/execute_bash_command", map[string]any{"command": "true", "timeout": 60}, nil)
		if got := s.command(t, id, "cat /tmp/kept file 2>/dev/null"); got != "text" {
			t.Errorf("in a fresh container: %q", got)
		}
		var info struct {
			Runtime string `json:"conversation_runtime"`
		}
		if s.do(t, "GET", "/server_info", nil, &info); info.Runtime != "docker" {
			t.Errorf("conversation_runtime is %s", info.Runtime)
		}
		other := s.create(t, two, map[string]any{"conversation_runtime": "docker"})
		var got struct {
			Key string `json:"session_api_key"`
		}
		if status := s.do(t, "POST", "/api/conversations/"+other+"/runtime/credentials", nil, &got); status != http.StatusOK || got.Key != key {
			t.Errorf("credentials: %d", status)
		}
		if got := s.command(t, other, "cat private; echo lost >/tmp/kept"); got != "of another conversation" {
			t.Errorf("inside: %q", got)
		}
		if status := s.do(t, "DELETE", "/api/conversations/"+other+"/runtime", nil, nil); status != http.StatusNoContent || container(t, c, other) != "" {
			t.Errorf("release of the runtime: %d", status)
		}
		if got := s.command(t, other, "cat private; test ! -e /tmp/kept"); got != "of another conversation" {
			t.Errorf("after the release: %q", got)
		}
		if status := s.do(t, "DELETE", "/api/conversations/0123456789abcdef0123456789abcdef/runtime", nil, nil); status != http.StatusNotFound {
			t.Errorf("release of an unknown conversation's: %d", status)
		}
		for _, id := range []string{id, other} {
			if status := s.do(t, "DELETE", "/api/conversations/"+id, nil, nil); status != http.StatusOK && status != http.StatusNoContent {
				t.Errorf("delete: %d", status)
			}
			if container(t, c, id) != "" {
				t.Errorf("the container of %s is still there", id)
			}
		}
	})
}

// TestNoEngine: without an engine the server says so to whoever wants a command run, and
// serves everything else.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, dir, "unix://"+dir+"/none.sock")
	ws := filepath.Join(dir, "workspace", "project", "one")
	must.Succeed(t, os.MkdirAll(ws, 0o755))
	id := s.create(t, ws, nil)
	var out struct{ Stderr string }
	s.do(t, "POST", "/api/conversations/"+id+"/bash/execute_bash_command", map[string]any{"command": "true", "timeout": 60}, &out)
	if !strings.Contains(out.Stderr, "Docker") {
		t.Errorf("without an engine: %q", out.Stderr)
	}
	if status := s.do(t, "GET", "/api/conversations/"+id, nil, nil); status != http.StatusOK {
		t.Errorf("the conversation: %d", status)
	}
}
