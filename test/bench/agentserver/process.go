package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/event"
)

// server is a running agent server.
type server struct {
	name    string
	url     string
	dir     string
	cmd     *exec.Cmd
	took    time.Duration // to the first 200 on /health
	clients *http.Client
}

// deftServer starts Deft's agent server on a directory.
func (b *bench) deftServer(ctx context.Context, dir string) (*server, error) {
	return b.serve(ctx, "deft", dir, func(port string) *exec.Cmd {
		return exec.CommandContext(ctx, b.deft, "agent-server", "--port", port)
	})
}

// peerServer starts the reference on a directory; nil where it is not
// installed.
func (b *bench) peerServer(ctx context.Context, dir string) (*server, error) {
	if b.python == "" {
		return nil, nil
	}
	return b.serve(ctx, "reference", dir, func(port string) *exec.Cmd {
		return exec.CommandContext(ctx, b.python, "-m", "openhands.agent_server", "--host", "127.0.0.1", "--port", port)
	})
}

func (b *bench) serve(ctx context.Context, name, dir string, command func(port string) *exec.Cmd) (*server, error) {
	if err := os.MkdirAll(filepath.Join(dir, "ws"), 0o755); err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{name: name, dir: dir, url: "http://127.0.0.1:" + port, cmd: command(port)}
	s.clients = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "OH_PERSISTENCE_DIR="+filepath.Join(dir, "persistence"), "OH_CONVERSATIONS_PATH=workspace/conversations",
		"OH_ENABLE_VSCODE=false", "OH_PRELOAD_TOOLS=false", "OPENHANDS_SUPPRESS_BANNER=1", "LITELLM_LOCAL_MODEL_COST_MAP=True")
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for time.Since(began) < time.Minute {
		if s.healthy(ctx) {
			s.took = time.Since(began)
			return s, nil
		}
		time.Sleep(500 * time.Microsecond)
	}
	return nil, errors.Join(fmt.Errorf("%s did not start; see %s", name, log.Name()), s.stop())
}

func (s *server) healthy(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/health", nil)
	if err != nil {
		return false
	}
	res, err := s.clients.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (s *server) stop() error {
	if s == nil {
		return nil
	}
	s.clients.CloseIdleConnections()
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // Wait tells if it is gone
	kill := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
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

// ownMemory is memory without what is mapped of the program's file: an idle server has given
// that back, and maps again what it uses.
func (s *server) ownMemory() (int64, error) {
	path := fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "RssAnon:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no RssAnon", path)
}

// cpu returns the processor time that the server and its ended children have used,
// and the time of the children that live: the shells.
func (s *server) cpu() (server, shells time.Duration, err error) {
	own := strconv.Itoa(s.cmd.Process.Pid)
	if server, _, err = usage(own); err != nil {
		return 0, 0, err
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, 0, err
	}
	for _, dir := range all {
		pid := filepath.Base(dir)
		if _, parent, err := usage(pid); err == nil && parent == own { // else it has ended, or is another's
			used, err := exactly(pid)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return 0, 0, err
			}
			shells += used
		}
	}
	return server, shells, nil
}

// usage reads the processor time that a process and its ended children have used,
// in steps of 10 ms, and the process's parent (proc(5)).
func usage(pid string) (used time.Duration, parent string, err error) {
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, "", err
	}
	text := string(raw)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 15 {
		return 0, "", fmt.Errorf("/proc/%s/stat is short", pid)
	}
	for _, field := range f[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, "", err
		}
		used += time.Duration(n) * 10 * time.Millisecond
	}
	return used, f[1], nil
}

// exactly reads the processor time of a process with one thread: a shell uses
// less than the resolution of [usage].
func exactly(pid string) (time.Duration, error) {
	raw, err := os.ReadFile("/proc/" + pid + "/schedstat")
	if err != nil {
		return 0, err
	}
	ns, _, _ := strings.Cut(string(raw), " ")
	n, err := strconv.ParseInt(ns, 10, 64)
	return time.Duration(n), err
}

// call makes a request and returns the answer's body.
func (s *server) call(ctx context.Context, method, path, body string) ([]byte, error) {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, in)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.clients.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, res.Status, raw)
	}
	return raw, err
}

// create makes a conversation and returns its id.
func (s *server) create(ctx context.Context, body string) (event.ConversationID, error) {
	raw, err := s.call(ctx, http.MethodPost, "/api/conversations", body)
	if err != nil {
		return "", err
	}
	return idOf(raw)
}
