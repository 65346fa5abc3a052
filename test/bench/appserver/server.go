package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// server is an App Server at work, or an agent server.
type server struct {
	url     string
	cmd     *exec.Cmd
	drained chan struct{}
	began   time.Time
	http    *http.Client
	key     string // of a sandbox, "" for the owner's cookie
}

var ready = regexp.MustCompile(`(http://[0-9.:]+)(?:/#login=(\S+))?`)

// serve starts an App Server on a directory and signs in.
func (b *bench) serve(ctx context.Context, dir, database string, args ...string) (*server, error) {
	env := []string{"DEFT_SERVER_COSTLY_PER_MINUTE=0", "LLM_MODEL=openai/m", "LLM_API_KEY=k", "LLM_BASE_URL=" + b.llm.url}
	if database != "" {
		env = append(env, "DEFT_DATABASE_URL="+database)
	}
	return b.command(ctx, dir, "#login=", env, append([]string{"serve", "--data", dir, "--address", "127.0.0.1:0"}, args...)...)
}

// command starts a server, which is ready when it says so.
func (b *bench) command(ctx context.Context, dir, says string, env []string, args ...string) (*server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, args[0]+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	s := &server{
		cmd: exec.CommandContext(ctx, b.deft, args...), drained: make(chan struct{}),
		http: &http.Client{Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: 1024}},
	}
	s.cmd.Dir = dir
	s.cmd.Env = append([]string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "DOCKER_HOST=" + b.docker}, env...)
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	s.began = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines, found := bufio.NewReader(errs), []string(nil)
	for found == nil {
		line, err := lines.ReadString('\n')
		fmt.Fprint(log, line)
		if strings.Contains(line, says) {
			found = ready.FindStringSubmatch(line)
		}
		if err != nil {
			return nil, errors.Join(errors.New("the server did not start"), log.Close(), s.cmd.Wait())
		}
	}
	go func() {
		defer close(s.drained)
		defer log.Close()
		_, _ = io.Copy(log, lines) // ends with the server
	}()
	if s.url = found[1]; found[2] == "" {
		return s, nil
	}
	_, err = s.call(ctx, "POST", "/api/v1/login", map[string]any{"code": found[2]})
	return s, err
}

// stop ends the server. Its sandboxes run on for ten minutes, so that the next server can use
// them: see end.
func (s *server) stop() error {
	s.http.CloseIdleConnections()
	err := s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.drained
	return errors.Join(err, s.cmd.Wait())
}

// end deletes the sandboxes of an App Server, which would slow down the measurements that
// follow, and stops it.
func (s *server) end(ctx context.Context) error {
	return errors.Join(s.deleteSandboxes(ctx), s.stop())
}

func (s *server) deleteSandboxes(ctx context.Context) error {
	for {
		page, err := get[struct {
			Items []sandbox `json:"items"`
		}](ctx, s, "GET", "/api/v1/sandboxes/search?limit=100", nil)
		if err != nil || len(page.Items) == 0 {
			return err
		}
		for _, one := range page.Items {
			if _, err := s.call(ctx, "DELETE", "/api/v1/sandboxes/"+one.ID, nil); err != nil {
				return err
			}
		}
	}
}

// memory returns the resident memory of the server in bytes.
func (s *server) memory() (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// call makes a request and returns the answer's body.
func (s *server) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(string(raw)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		r.Header.Set("X-Session-API-Key", s.key)
	}
	res, err := s.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, res.Status, out)
	}
	return out, err
}

// get is call for an answer that is decoded.
func get[T any](ctx context.Context, s *server, method, path string, body any) (v T, err error) {
	raw, err := s.call(ctx, method, path, body)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}

// sandbox is one that conversations are placed in.
type sandbox struct {
	ID  string `json:"id"`
	Key string `json:"session_api_key"`
}

// agent makes a sandbox and returns the server by its agent-server contract.
func (s *server) agent(ctx context.Context) (*server, error) {
	box, err := get[sandbox](ctx, s, "POST", "/api/v1/sandboxes", nil)
	one := *s
	one.key = box.Key
	return &one, err
}

// conversation makes one by the agent-server contract and returns its id.
func (s *server) conversation(ctx context.Context, b *bench, dir string) (string, error) {
	made, err := get[struct {
		ID string `json:"id"`
	}](ctx, s, "POST", "/api/conversations", map[string]any{
		"autotitle": false, "workspace": map[string]any{"kind": "LocalWorkspace", "working_dir": dir},
		"agent": map[string]any{
			"kind": "Agent", "llm": map[string]any{"model": "openai/m", "base_url": b.llm.url, "api_key": "k", "usage_id": "agent"},
			"tools": []any{map[string]any{"name": "terminal", "params": map[string]any{}}},
		},
	})
	return made.ID, err
}

// follow connects to the events of a conversation.
func (s *server) follow(ctx context.Context, id string) (*websocket.Conn, error) {
	ws, res, err := websocket.Dial(ctx, strings.Replace(s.url, "http", "ws", 1)+"/sockets/events/"+id+"?session_api_key="+s.key, nil)
	if err != nil {
		return nil, err
	}
	if res.Body != nil {
		_ = res.Body.Close() // nothing is in it
	}
	ws.SetReadLimit(64 << 20)
	return ws, nil
}

func message(text string, run bool) map[string]any {
	return map[string]any{"role": "user", "run": run, "content": []any{map[string]any{"type": "text", "text": text}}}
}
