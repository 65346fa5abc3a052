// Package appserver uses the built `deft serve` over HTTP as its clients do, with each
// sandbox and database, and kills servers at work.
//
// # Usage
//
//	go test ./test/appserver
//	DEFT_BIN=$PWD/bin/deft go test ./test/appserver
//
// # Concurrency and failure
//
// Tests without options share a server, on which each has an account (join). Others, and all
// that end a server, have servers, a schema and directories of their own (deploy, start).
// Tests that need PostgreSQL or a Docker engine are skipped without it, or fail if CI=true.
package appserver_test

import (
	"bufio"
	"bytes"
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
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

func TestMain(m *testing.M) {
	code := binary.Run(m)
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// server is an App Server at work.
type server struct {
	url, code string
	data      string // its directory
	failing   bool
	cmd       *exec.Cmd
	ended     chan struct{} // closed when it has

	mu      sync.Mutex
	said    strings.Builder
	waiting map[string]chan struct{} // closed when the server says it
}

var signsIn = regexp.MustCompile(`(http://\S+)/#login=(\S+)`)

// options say how a server is started. All may be left out.
type options struct {
	dir      string   // of its data; "" for a new one
	database string   // URL of PostgreSQL; "" for SQLite in dir
	args     []string // flags
	env      []string // variables besides HOME, PATH and the database
	awaited  []string // output that the test will wait for
	failing  bool     // the server is to report errors
}

// start starts a server that ends with the test. Its sandboxes' processes outlive it for
// a while, so a test deletes its conversations.
func start(t *testing.T, o options) *server {
	t.Helper()
	if o.dir == "" {
		o.dir = t.TempDir()
	}
	s, err := run(o)
	must.Succeed(t, err)
	t.Cleanup(func() { s.stop(t) })
	return s
}

// run runs a server until it is stopped.
func run(o options) (*server, error) {
	s := &server{data: o.dir, failing: o.failing, ended: make(chan struct{}), waiting: map[string]chan struct{}{}}
	for _, text := range o.awaited {
		s.waiting[text] = make(chan struct{})
	}
	s.cmd = exec.CommandContext(context.Background(), binary.Path(), append([]string{"serve", "--data", o.dir, "--address", "127.0.0.1:0"}, o.args...)...)
	s.cmd.Dir = o.dir
	s.cmd.Env = append([]string{"HOME=" + o.dir, "PATH=" + os.Getenv("PATH")}, o.env...)
	if o.database != "" {
		s.cmd.Env = append(s.cmd.Env, "DEFT_DATABASE_URL="+o.database)
	}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	errs, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	ready := make(chan []string, 1)
	go s.listen(errs, ready)
	m := <-ready
	if m == nil {
		_ = s.cmd.Wait() // it has ended
		return nil, fmt.Errorf("the server did not start: %s", s.said.String())
	}
	s.url, s.code = m[1], m[2]
	return s, nil
}

// workspace is the project's directory of a sandbox, on this machine.
func (s *server) workspace(sandbox string) string {
	return filepath.Join(s.data, "events", "app", "workspaces", sandbox, "project")
}

// listen keeps the server's output.
func (s *server) listen(errs io.Reader, ready chan<- []string) {
	defer close(s.ended)
	defer close(ready)
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		s.mu.Lock()
		s.said.WriteString(lines.Text() + "\n")
		for text, c := range s.waiting {
			if strings.Contains(lines.Text(), text) {
				close(c)
				delete(s.waiting, text)
			}
		}
		s.mu.Unlock()
		if m := signsIn.FindStringSubmatch(lines.Text()); m != nil {
			ready <- m
		}
	}
}

// await returns when the server says a text that serve was given.
func (s *server) await(t *testing.T, text string) {
	t.Helper()
	s.mu.Lock()
	c := s.waiting[text]
	s.mu.Unlock()
	if c == nil {
		return // it has said so
	}
	select {
	case <-c:
	case <-s.ended:
		t.Fatalf("the server has ended, and not said %q", text)
	}
}

// kill ends the server without warning.
func (s *server) kill(t *testing.T) {
	t.Helper()
	must.Succeed(t, s.cmd.Process.Kill())
	<-s.ended
	_ = s.cmd.Wait() // killed; its sockets are closed now
}

// stop ends the server as its user does, if it has not ended, and looks at its
// output.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("the server said at last:\n%s", s.lastWords())
	}
}

// end ends the server and looks at its output.
func (s *server) end() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have been killed
	<-s.ended
	_ = s.cmd.Wait() // ended by us
	if said := s.said.String(); strings.Contains(said, "panic") || strings.Contains(said, "level=ERROR") && !s.failing {
		return errors.New("the server panicked, or reported an error")
	}
	return nil
}

func (s *server) lastWords() string {
	said := s.said.String()
	return said[max(0, len(said)-6000):]
}

// newClient returns a browser that is signed in at a server. It is at all servers of the
// same database.
func newClient(t *testing.T, s *server) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must.Succeed(t, err)
	c := &client{http: &http.Client{Jar: jar}}
	t.Cleanup(c.http.CloseIdleConnections)
	c.do(t, "POST", s.url+"/api/v1/login", map[string]any{"code": s.code}, nil)
	return c
}

// asProgram returns a client with an API key of the owner's.
func asProgram(t *testing.T, s *server, owner *client) *client {
	t.Helper()
	var key struct {
		Key string `json:"key"`
	}
	owner.do(t, "POST", s.url+"/api/keys", map[string]any{"name": "program"}, &key)
	plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(plain.CloseIdleConnections)
	return &client{http: plain, api: key.Key}
}

// client sends requests.
type client struct {
	http *http.Client
	key  string // of a sandbox; "" for the owner's cookie
	api  string // an API key, "" for none
}

// do sends a request that must succeed, and decodes the answer unless to is nil.
func (c *client) do(t *testing.T, method, url string, body, to any) {
	t.Helper()
	status, raw := c.send(t, method, url, body)
	if status >= 300 {
		t.Fatalf("%s %s: %d: %s", method, url, status, raw)
	}
	if to == nil {
		return
	}
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatalf("%s %s: %s: %v", method, url, raw, err)
	}
}

// send sends a request and returns the answer.
func (c *client) send(t *testing.T, method, url string, body any) (status int, answer []byte) {
	t.Helper()
	raw, err := json.Marshal(body)
	must.Succeed(t, err)
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, bytes.NewReader(raw))
	must.Succeed(t, err)
	r.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		r.Header.Set("X-Session-API-Key", c.key)
	}
	if c.api != "" {
		r.Header.Set("Authorization", "Bearer "+c.api)
	}
	got, err := c.http.Do(r)
	must.Succeed(t, err)
	defer got.Body.Close()
	if raw, err = io.ReadAll(got.Body); err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, raw
}
