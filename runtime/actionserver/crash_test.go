package actionserver_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/runtime/runtimetest"
	"github.com/deft-dev/deft/tool"
)

// serverDir is a directory in which servers are started one after the other, as
// in a sandbox.
type serverDir struct {
	dir     string
	servers int
	signals string // childSignals
}

func (p *serverDir) journal() string { return filepath.Join(p.dir, "journal") }
func (p *serverDir) lines() string   { return filepath.Join(p.dir, "lines") }

// process is a server in a process of its own.
type process struct {
	cmd    *exec.Cmd
	socket string
	stderr bytes.Buffer
}

func (p *serverDir) start(t testing.TB, grace time.Duration) *process {
	t.Helper()
	p.servers++
	s := &process{socket: filepath.Join(p.dir, fmt.Sprint("s", p.servers))}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.socket, Net: "unix"})
	must.Succeed(t, err)
	l.SetUnlinkOnClose(false)
	socket, err := l.File()
	must.Succeed(t, err)
	journal, err := os.OpenFile(p.journal(), os.O_RDWR|os.O_CREATE, 0o600)
	must.Succeed(t, err)
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = []string{childRole + "=server", childFile + "=" + p.lines(), childGrace + "=" + grace.String(), childSignals + "=" + p.signals}
	s.cmd.ExtraFiles = []*os.File{socket, journal}
	s.cmd.Stderr = &s.stderr
	must.Succeed(t, s.cmd.Start())
	must.Succeed(t, errors.Join(l.Close(), socket.Close(), journal.Close()))
	return s
}

// kill ends the server like a crash and waits until it has ended.
func (s *process) kill() {
	_ = s.cmd.Process.Kill() // fails only if it has ended
	_ = s.cmd.Wait()         // says that it was killed
}

func (s *process) connect(t testing.TB) *remote.Runtime {
	t.Helper()
	rt, err := remote.New(remote.Options{Dial: dialer(s.socket)})
	must.Succeed(t, err)
	return rt
}

// count returns how often each line is in the file.
func count(t testing.TB, path string) map[string]int {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for l := range strings.Lines(string(raw)) {
		lines[strings.TrimSuffix(l, "\n")]++
	}
	return lines
}

func crashes(t *testing.T) int {
	if testing.Short() {
		return 10
	}
	return 100
}

// TestServerKilled kills the server at random points and starts it anew with
// the same journal: no effect twice, and one missing only where the answer was
// that it was interrupted.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	kills, interrupted, rounds := 0, 0, 0
	for kills < crashes(t) {
		k, i := killServer(t)
		kills, interrupted, rounds = kills+k, interrupted+i, rounds+1
	}
	t.Logf("%d kills in %d rounds of %d actions, %d interrupted", kills, rounds, actions, interrupted)
}

func killServer(t *testing.T) (kills, interrupted int) {
	p := &serverDir{dir: t.TempDir()}
	s := p.start(t, time.Minute)
	rt := s.connect(t)
	var killed chan struct{}
	arm := func() { // a random point of the next few actions
		killed = make(chan struct{})
		done := killed
		time.AfterFunc(rand.N(12*time.Millisecond), func() { s.kill(); close(done) })
	}
	state := map[string]string{}
	for i := range actions {
		id := fmt.Sprint("action", i)
		again := false
		for state[id] == "" {
			obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.ID(id), Action: runtimetest.Action(id)}, Again: again})
			if killed == nil {
				arm() // once it is known to be up
			}
			switch {
			case err == nil && event.JoinText(obs.Result().Content) == id:
				state[id] = "done"
				rt.Ack(event.ID(id))
			case fault.Is(err, fault.Interrupted):
				state[id] = "interrupted"
				interrupted++
			case fault.Is(err, fault.Unavailable):
				again = again || !errors.Is(err, runtime.ErrNotSent)
				<-killed
				kills++
				must.Report(t, rt.Close())
				s, killed = p.start(t, time.Minute), nil
				rt = s.connect(t)
			default:
				t.Fatalf("%s: got %v, %v\n%s", id, obs, err, s.stderr.String())
			}
		}
	}
	if killed != nil {
		<-killed
	} else {
		s.kill()
	}
	must.Report(t, rt.Close())
	lines := count(t, p.lines())
	for id, how := range state {
		if n := lines[id]; n > 1 || n == 0 && how == "done" {
			t.Errorf("%s is %s and took effect %d times", id, how, n)
		}
	}
	return kills, interrupted
}

// TestClientKilled kills the controller at random points while the server
// lives on: every effect exactly once, and nothing is reported as interrupted.
func TestClientKilled(t *testing.T) {
	t.Parallel()
	kills, rounds := 0, 0
	for kills < crashes(t) {
		kills += killClient(t)
		rounds++
	}
	t.Logf("%d kills in %d rounds of %d actions", kills, rounds, actions)
}

func killClient(t *testing.T) (kills int) {
	p := &serverDir{dir: t.TempDir()}
	s := p.start(t, time.Minute)
	defer s.kill()
	rt := s.connect(t)
	// A new journal proves nothing before its first action.
	if _, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "first", Action: runtimetest.Action("first")}}); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, rt.Close())
	log := filepath.Join(p.dir, "log")
	for {
		var stderr bytes.Buffer
		client := exec.Command(os.Args[0])
		client.Env = []string{
			childRole + "=client", childFile + "=" + log, childSock + "=" + s.socket,
			"GORACE=atexit_sleep_ms=0", // else a client that is done lingers, to be killed in vain
		}
		client.Stderr = &stderr
		out, err := client.StdoutPipe()
		must.Succeed(t, err)
		must.Succeed(t, client.Start())
		// From when it is up, or a slow machine only ever starts it. Longer
		// after each kill, so that it gets to the end too.
		_, up := bufio.NewReader(out).ReadString('\n')
		window := 12*time.Millisecond + time.Duration(kills)*time.Millisecond
		timer := time.AfterFunc(rand.N(window), func() { _ = client.Process.Kill() })
		err = client.Wait()
		timer.Stop()
		if up != nil {
			t.Fatalf("the client did not start: %v: %s", err, stderr.String())
		}
		if err == nil {
			break
		}
		if kills++; stderr.Len() > 0 {
			t.Fatal(stderr.String())
		}
	}
	lines, verbs := count(t, p.lines()), count(t, log)
	for i := range actions {
		id := fmt.Sprint("action", i)
		if lines[id] != 1 || verbs["got "+id] != 1 {
			t.Errorf("%s took effect %d times and was answered %d times", id, lines[id], verbs["got "+id])
		}
	}
	return kills
}
