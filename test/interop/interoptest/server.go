// Package interoptest starts the parts that tests of OpenHands' published clients
// need: the built program as an agent server, the scripted LLM, and Node.
//
// # Usage
//
//	func TestMain(m *testing.M) { interoptest.Main(m) }
//
//	llm := interoptest.LLM(t, "llm.yaml")
//	server := interoptest.Serve(t, interoptest.Options{Key: "a key"})
//	interoptest.Script(t, "main.mjs", map[string]any{"server": server.URL, "llm": llm})
//
// test/interop/install.sh installs the clients. Without them a test skips with
// the reason, and fails where CI is "true".
//
// # Concurrency and failure
//
// Each test has servers of its own, on free ports of the loopback interface. They
// end with the test; their output is logged where it failed.
package interoptest

import (
	"bufio"
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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

// Main builds the program as [binary.Run] does, runs the tests and ends the
// process.
func Main(m *testing.M) {
	code := binary.Run(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// AppServer starts `deft serve` with further environment, and returns the link that signs
// in there once.
func AppServer(t *testing.T, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"serve", "--address", "127.0.0.1:0", "--data", filepath.Join(dir, "data")}
	return start(t, regexp.MustCompile(`(https?://\S+/#login=\S+)`), binary.Path(), args, append([]string{"HOME=" + dir}, env...))
}

// LLM starts the scripted LLM and returns its address, without /v1.
func LLM(t *testing.T, script string) string {
	t.Helper()
	args := []string{"dev", "scripted-llm", "--addr", "127.0.0.1:0", "--data", t.TempDir(), script}
	return start(t, regexp.MustCompile(`listening on (http://\S+)`), binary.Path(), args, nil)
}

// Options configure a server.
type Options struct {
	Key     string   // session key; without one the server asks for none
	Sandbox string   // "", none or process
	Dir     string   // its folder; default: a fresh one
	Env     []string // further environment
}

// Server is an agent server at work.
type Server struct {
	URL string
	Dir string // its folder: home, settings and conversations
}

// Serve starts an agent server and waits until it answers.
func Serve(t *testing.T, o Options) Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	home := filepath.Join(o.Dir, "home")
	must.Succeed(t, os.MkdirAll(home, 0o700))
	env := append([]string{
		"HOME=" + home,
		"OH_SECRET_KEY=secret-of-the-interop-tests",
		"OH_PERSISTENCE_DIR=" + filepath.Join(home, ".openhands"),
		"OH_BASH_EVENTS_DIR=" + filepath.Join(o.Dir, "bash_events"),
	}, o.Env...)
	if o.Key != "" {
		env = append(env, "OH_SESSION_API_KEYS_0="+o.Key)
	}
	args := []string{
		"agent-server", "--host", "127.0.0.1", "--port", "0",
		"--data", filepath.Join(o.Dir, "data"),
		"--conversations-path", filepath.Join(o.Dir, "conversations"),
		"--workspace-path", filepath.Join(o.Dir, "project"),
	}
	if o.Sandbox != "" {
		args = append(args, "--sandbox", o.Sandbox)
	}
	s := Server{Dir: o.Dir, URL: start(t, regexp.MustCompile(`agent-server on (http://\S+)`), binary.Path(), args, env)}
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/health", nil)
	must.Succeed(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(ask)
	must.Succeed(t, err)
	answer.Body.Close()
	if o.Sandbox == "process" {
		t.Cleanup(func() { s.clear(t, o.Key) })
	}
	return s
}

// clear deletes all conversations: their sandboxes outlive a server by
// minutes, so that one that comes back finds them.
func (s Server) clear(t *testing.T, key string) {
	t.Helper()
	ask := func(method, path string) []byte {
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, s.URL+path, nil)
		must.Succeed(t, err)
		r.Header.Set("X-Session-API-Key", key)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Do(r)
		if err != nil {
			t.Errorf("clear the server: %v", err)
			return nil
		}
		defer answer.Body.Close()
		raw, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Errorf("clear the server: %v", err)
		}
		return raw
	}
	var all struct{ Items []struct{ ID string } }
	if err := json.Unmarshal(ask(http.MethodGet, "/api/conversations/search?limit=100"), &all); err != nil {
		t.Errorf("clear the server: %v", err)
	}
	for _, c := range all.Items {
		ask(http.MethodDelete, "/api/conversations/"+c.ID)
	}
}

// Start runs a program until the test ends, and returns the first group of ready
// in its output, on either stream.
func Start(t *testing.T, ready *regexp.Regexp, program string, args, env []string) string {
	t.Helper()
	return start(t, ready, program, args, env)
}

func start(t *testing.T, ready *regexp.Regexp, program string, args, env []string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Env = append(environment(), env...)
	said := &listener{ready: ready, found: make(chan string, 1)}
	in, out := io.Pipe()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	var work sync.WaitGroup
	ended := make(chan struct{})
	work.Go(func() { said.listen(in) })
	work.Go(func() {
		defer close(ended)
		err := cmd.Wait()
		out.Close()
		if err != nil && ctx.Err() == nil {
			t.Errorf("%s ended: %v", filepath.Base(program), err)
		}
	})
	t.Cleanup(func() {
		cancel()
		work.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(program), said.text())
		}
	})
	select {
	case url := <-said.found:
		return url
	case <-ended:
	}
	t.Fatalf("%s %v has ended without an answer", program, args)
	return ""
}

// environment is this process's, without variables that would configure a server.
func environment() []string {
	var kept []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OH_") && !strings.HasPrefix(v, "DEFT_") && !strings.HasPrefix(v, "SESSION_API_KEY") {
			kept = append(kept, v)
		}
	}
	return kept
}

// listener keeps the end of a program's output and looks for a line.
type listener struct {
	ready *regexp.Regexp
	found chan string

	mu    sync.Mutex
	lines []string
}

func (l *listener) listen(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		l.mu.Lock()
		if l.lines = append(l.lines, line); len(l.lines) > 400 {
			l.lines = l.lines[200:]
		}
		l.mu.Unlock()
		if m := l.ready.FindStringSubmatch(line); m != nil && len(l.found) == 0 {
			l.found <- m[1]
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
			return
		}
	}
}

func (l *listener) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}
