package actionserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/runtime/runtimetest"
	"github.com/deft-dev/deft/tool"
	"golang.org/x/sys/unix"
)

// blocker returns a tool that runs until it is interrupted.
func blocker() (map[string]tool.Executor, <-chan struct{}) {
	started := make(chan struct{}, 8)
	return map[string]tool.Executor{runtimetest.Kind: runtimetest.Func(func(ctx context.Context, _ tool.Call) (event.Observation, error) {
		started <- struct{}{}
		<-ctx.Done()
		return runtimetest.Observation("stopped"), nil
	})}, started
}

func TestEndsWithoutAController(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, time.Millisecond)
	if <-s.ended; s.err != nil {
		t.Error(s.err)
	}
}

// TestEndsAfterItsControllerHasDisconnected leaves an action behind.
func TestEndsAfterItsControllerHasDisconnected(t *testing.T) {
	t.Parallel()
	tools, started := blocker()
	s := serve(t, tools, 500*time.Millisecond)
	rt, err := remote.New(remote.Options{Dial: s.dial})
	must.Succeed(t, err)
	got := make(chan error, 1)
	go func() {
		_, err := rt.Execute(context.Background(), tool.Request{Call: tool.Call{ID: "a", Action: runtimetest.Action("")}})
		got <- err
	}()
	<-started
	must.Succeed(t, rt.Close())
	if err := <-got; !fault.Is(err, fault.Unavailable) {
		t.Errorf("got error %v", err)
	}
	if <-s.ended; s.err != nil {
		t.Error(s.err)
	}
}

func TestShutdownAnswersPendingRequests(t *testing.T) {
	t.Parallel()
	tools, started := blocker()
	s := serve(t, tools, 0)
	rt := connect(t, s)
	got := make(chan error, 1)
	go func() {
		obs, err := rt.Execute(context.Background(), tool.Request{Call: tool.Call{ID: "a", Action: runtimetest.Action("")}})
		if err == nil && event.JoinText(obs.Result().Content) != "stopped" {
			err = errors.New("another observation")
		}
		got <- err
	}()
	<-started
	h, err := rt.Health(t.Context())
	if err != nil || h.Status != "ok" || len(h.Running) != 1 || h.PID != os.Getpid() || len(h.Tools) != 1 {
		t.Errorf("got %+v, %v", h, err)
	}
	must.Succeed(t, rt.Shutdown(t.Context()))
	must.Report(t, <-got)
	<-s.ended
	_, err = connect(t, s).Execute(t.Context(), tool.Request{Call: tool.Call{ID: "b", Action: runtimetest.Action("")}})
	if !fault.Is(err, fault.Unavailable) || !errors.Is(err, runtime.ErrNotSent) {
		t.Errorf("without a server: got error %v", err)
	}
}

// TestSIGTERM ends a server process, which exits with 0.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	p := &serverDir{dir: t.TempDir()}
	s := p.start(t, time.Minute)
	rt := s.connect(t)
	defer func() { _ = rt.Close() }()
	if _, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: runtimetest.Action("a")}}); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, s.cmd.Process.Signal(syscall.SIGTERM))
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("exit: %v\n%s", err, s.stderr.String())
	}
}

// TestSignalsIgnored sends all signals to the process and to each of its threads, as
// commands in a sandbox can.
func TestSignalsIgnored(t *testing.T) {
	t.Parallel()
	p := &serverDir{dir: t.TempDir(), signals: "ignore"}
	s := p.start(t, time.Minute)
	rt := s.connect(t)
	defer func() { _ = rt.Close() }()
	do := func(id string) error {
		_, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.ID(id), Action: runtimetest.Action("a")}})
		return err
	}
	if err := do("before"); err != nil { // it is set up
		t.Fatal(err)
	}
	pid := s.cmd.Process.Pid
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	must.Succeed(t, err)
	for n := syscall.Signal(1); n < 65; n++ {
		switch n {
		case syscall.SIGKILL, syscall.SIGSTOP, 32, 33, 34: // the kernel keeps those without a handler from a first process
			continue
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			must.Succeed(t, err)
			_ = syscall.Kill(tid, n) // a thread may have ended
			_ = unix.Tgkill(pid, tid, n)
		}
	}
	// A thread that got no processor meanwhile would take its signals after the shutdown.
	waittest.Until(t, "the process has taken its signals", func() bool { return !pending(t, pid) })
	if err := do("after"); err != nil {
		t.Errorf("after all signals: %v\n%s", err, s.stderr.String())
	}
	must.Report(t, rt.Shutdown(t.Context()))
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("exit: %v\n%s", err, s.stderr.String())
	}
}

// pending reports whether a process or one of its threads has signals that it has not taken.
func pending(t *testing.T, pid int) bool {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	must.Succeed(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil { // the thread has ended
			continue
		}
		for line := range strings.Lines(string(raw)) {
			name, set, _ := strings.Cut(line, ":")
			if (name == "SigPnd" || name == "ShdPnd") && strings.Trim(set, "\t\n0") != "" {
				return true
			}
		}
	}
	return false
}

func TestInheritedNeedsDescriptors(t *testing.T) {
	t.Parallel()
	if err := actionserver.Serve(t.Context(), actionserver.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("got error %v", err)
	}
}

// TestLostConnection cuts every connection while the action runs: the client
// joins it.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	var runs atomic.Int32
	s := serve(t, map[string]tool.Executor{runtimetest.Kind: runtimetest.Func(func(context.Context, tool.Call) (event.Observation, error) {
		runs.Add(1)
		close(started)
		<-release
		return runtimetest.Observation("done"), nil
	})}, 0)
	conns := make(chan net.Conn, 100)
	rt, err := remote.New(remote.Options{Dial: func(ctx context.Context) (net.Conn, error) {
		c, err := s.dial(ctx)
		if err == nil {
			conns <- c
		}
		return c, err
	}})
	must.Succeed(t, err)
	defer func() { must.Report(t, rt.Close()) }()
	got := make(chan error, 1)
	go func() {
		_, err := rt.Execute(context.Background(), tool.Request{Call: tool.Call{ID: "a", Action: runtimetest.Action("")}})
		got <- err
	}()
	<-started
	for range 2 { // the lease's and the action's
		must.Report(t, (<-conns).Close())
	}
	<-conns // the client has connected again
	close(release)
	must.Report(t, <-got)
	if n := runs.Load(); n != 1 {
		t.Errorf("run %d times", n)
	}
}

// TestClientThatNeverReads floods a client that does not read: the tool is not
// held up, and the result is there for the next request.
func TestClientThatNeverReads(t *testing.T) {
	t.Parallel()
	flooded := make(chan struct{})
	s := serve(t, map[string]tool.Executor{runtimetest.Kind: runtimetest.Func(func(_ context.Context, c tool.Call) (event.Observation, error) {
		defer close(flooded)
		text := strings.Repeat("x", 32<<10)
		for range 1000 {
			c.Progress(tool.Chunk{Text: text})
		}
		return runtimetest.Observation("done"), nil
	})}, 0)
	conn, err := s.dial(t.Context())
	must.Succeed(t, err)
	body := `{"action":{"thought":"","kind":"ThinkAction"}}`
	req, err := http.NewRequest(http.MethodPost, "http://s/v1/actions/a", strings.NewReader(body))
	must.Succeed(t, err)
	must.Succeed(t, req.Write(conn))
	<-flooded
	rt := connect(t, s)
	if _, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}, Again: true}); err != nil {
		t.Error(err)
	}
	must.Report(t, conn.Close())
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, 0)
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) },
	}}
	for _, tc := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/v1/actions/a", "", 422},
		{"POST", "/v1/actions/a", "{", 422},
		{"POST", "/v1/actions/a", "[]", 422},
		{"POST", "/v1/actions/a", "{}", 422},
		{"POST", "/v1/actions/a", `{"action":7}`, 422},
		{"POST", "/v1/actions/a", `{"action":{"kind":"Odd"}}`, 501},
		{"POST", "/v1/actions/a%20b", `{"action":{"kind":"ThinkAction"}}`, 422},
		{"POST", "/v1/actions/" + strings.Repeat("a", 1000), `{"action":{"kind":"ThinkAction"}}`, 422},
		{"GET", "/v1/actions/a", "", 404},
		{"POST", "/v1/ack", "x", 422},
		{"POST", "/v1/ack", `{"ack":["unknown"]}`, 204},
		{"POST", "/v1/actions/unknown/ack", "", 204},
		{"POST", "/v1/actions/unknown/interrupt", "", 200},
		{"GET", "/", "", 404},
	} {
		req, err := http.NewRequest(tc.method, "http://s"+tc.path, strings.NewReader(tc.body))
		must.Succeed(t, err)
		resp, err := client.Do(req)
		must.Succeed(t, err)
		raw, err := io.ReadAll(resp.Body)
		must.Succeed(t, errors.Join(err, resp.Body.Close()))
		if resp.StatusCode != tc.want {
			t.Errorf("%s %.40s %q: got %s %s, want %d", tc.method, tc.path, tc.body, resp.Status, raw, tc.want)
		}
	}
}
