package runtimeapi_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
)

// TestKilled: a server that was killed goes on with its runtimes, and leaves nothing that
// belongs to nobody.
func TestKilled(t *testing.T) {
	t.Parallel()
	pool := filepath.Join(t.TempDir(), "pool.json")
	must.Succeed(t, os.WriteFile(pool, []byte(`[{"size": 2}]`), 0o600))
	s := open(t, "--ignore", ignored, "--pool", pool)
	running, paused, dead := s.begin("running", action), s.begin("paused", action), s.begin("dead", action)
	running.run(t, "sleep 1000 & X=1")
	dead.run(t, "echo kept > f")
	s.do("POST", "/pause", key, map[string]any{"runtime_id": paused.ID}, nil)
	await(t, func() bool { return s.sandboxes() >= 5 }) // two of them the pool's
	s.kill()
	s.endSandbox(dead.ID)
	s.start("--ignore", ignored)
	var got runtime
	if s.do("GET", "/sessions/running", key, nil, &got); got.Status != "running" || got.URL != running.URL || got.SessionKey != running.SessionKey {
		t.Errorf("%+v, before %+v", got, running)
	}
	if out := running.run(t, "echo $X $(jobs -p | wc -l)"); out != "1 1" {
		t.Errorf("the shell is another one: %q", out)
	}
	if s.do("GET", "/sessions/paused", key, nil, &got); got.Status != "paused" {
		t.Errorf("%+v", got)
	}
	if again := s.begin("paused", action); again.ID != paused.ID || again.run(t, "echo ok") != "ok" {
		t.Errorf("%+v", again)
	}
	if s.do("GET", "/sessions/dead", key, nil, &got); got.Status != "stopped" || got.PodStatus != "failed" {
		t.Errorf("one that has ended: %+v", got)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(dead.URL, "http://")); err == nil {
		conn.Close()
		t.Error("the port of the one that has ended is open")
	}
	if again := s.begin("dead", action); again.ID != dead.ID || again.Restarts != 1 || len(again.Reasons) != 1 || again.run(t, "cat f") != "kept" {
		t.Errorf("%+v", again)
	}
	if n := s.sandboxes(); n != 3 {
		t.Errorf("%d sandboxes, 3 runtimes: the pool's are left", n)
	}
}

// TestDies: the end of a sandbox is seen, and its session starts again with its files.
func TestDies(t *testing.T) {
	t.Parallel()
	s := open(t, "--ignore", ignored)
	r := s.begin("s", action)
	r.run(t, "echo kept > f")
	s.endSandbox(r.ID)
	var got runtime
	await(t, func() bool { s.do("GET", "/runtime/"+r.ID, key, nil, &got); return got.Status == "stopped" })
	if got.PodStatus != "failed" {
		t.Errorf("%+v", got)
	}
	if status := s.do("POST", "/resume", key, map[string]any{"runtime_id": r.ID}, nil); status != http.StatusConflict {
		t.Errorf("resume: %d", status)
	}
	if again := s.begin("s", action); again.ID != r.ID || again.Restarts != 1 || again.run(t, "cat f") != "kept" {
		t.Errorf("%+v", again)
	}
}

// TestSecondServer: one server at a time has the runtimes of a directory.
func TestSecondServer(t *testing.T) {
	t.Parallel()
	s := open(t)
	second := *s.cmd
	out, err := command(second.Path, second.Args[1:], second.Env).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another runtime API uses") {
		t.Errorf("%s, %v", out, err)
	}
}

// sandboxes counts those that there are.
func (s *server) sandboxes() int {
	entries, err := os.ReadDir(filepath.Join(s.dir, "data/runtime-api/workspaces"))
	must.Report(s.t, err)
	return len(entries)
}

// await waits until the server, or its program, is in a state.
func await(t *testing.T, reached func() bool) {
	t.Helper()
	waittest.Until(t, "a state of the server", reached)
}

// ended reports whether a process has ended that nobody has waited for.
func ended(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(raw), ") Z ")
}

// TestReaper: unused runtimes are paused, and removed later; busy or used ones are
// not.
func TestReaper(t *testing.T) {
	t.Parallel()
	s := open(t, "--ignore", ignored, "--idle", "1s", "--keep", "2s")
	idle, works := s.begin("idle", action), s.begin("works", action)
	works.run(t, "(while :; do :; done) & echo begun")
	var got runtime
	await(t, func() bool { s.do("GET", "/runtime/"+idle.ID, key, nil, &got); return got.Status == "paused" })
	if s.do("GET", "/runtime/"+works.ID, key, nil, &got); got.Status != "running" {
		t.Errorf("one that works: %+v", got)
	}
	await(t, func() bool { return s.do("GET", "/runtime/"+idle.ID, key, nil, nil) == http.StatusNotFound })
	if s.do("GET", "/runtime/"+works.ID, key, nil, &got); got.Status != "running" {
		t.Errorf("one that works: %+v", got)
	}
	if n := s.sandboxes(); n != 1 {
		t.Errorf("%d sandboxes, 1 runtime", n)
	}
}
