package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/sandbox/process"
)

// pidOf reads the process id that Dir keeps.
func pidOf(t *testing.T, b *bench) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, "one/state.json"))
	must.Succeed(t, err)
	var st struct{ PID int }
	if err := json.Unmarshal(data, &st); err != nil || st.PID < 2 {
		t.Fatalf("state %s: %v", data, err)
	}
	if strings.Contains(string(data), "hunter2") {
		t.Error("the state holds the environment")
	}
	return st.PID
}

func TestKillingFirstProcessEndsAll(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	s := b.start(t)
	fifo := filepath.Join(b.ws, "fifo")
	sh(t, s, `mkfifo fifo; nohup setsid sh -c 'exec 9>fifo; nohup sleep 1000 & sleep 1000' >/dev/null 2>&1 &`)
	f, err := os.Open(fifo)
	must.Succeed(t, err)
	defer f.Close()
	must.Succeed(t, syscall.Kill(pidOf(t, b), syscall.SIGKILL))
	<-s.Done()
	if n, err := f.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d, %v: a process still runs", n, err)
	}
	if _, err := b.Get(t.Context(), "one"); !fault.Is(err, fault.NotFound) {
		t.Errorf("Get: %v", err)
	}
	again := b.start(t)
	if again.Reused() {
		t.Error("a dead sandbox was reused")
	}
	if got := ask(t, again, request{Act: "pid"}).Out; got != "1" {
		t.Errorf("the new one answers %q", got)
	}
}

// TestInsideCannotKillServer: by no signal, to it or to all. The server of
// these tests handles none.
func TestInsideCannotKillServer(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	s := b.start(t)
	sh(t, s, `for s in 9 15 STOP HUP INT QUIT ABRT SEGV BUS USR1; do kill -$s 1; done; kill -TERM -1; kill -9 -1`)
	if got := ask(t, s, request{Act: "pid"}).Out; got != "1" {
		t.Errorf("the server answers %q", got)
	}
}

func TestStartCanceled(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Start(ctx, b.spec); !fault.Is(err, fault.Canceled) {
		t.Fatalf("error %v, want canceled", err)
	}
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List = %v, %v", list, err)
	}
	if s := b.start(t); s.Reused() {
		t.Error("the canceled sandbox runs")
	}
}

// TestCloseLeavesSandboxesRunning: another provider finds them.
func TestCloseLeavesSandboxesRunning(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	other := b.provider(t, "")
	s := b.start(t)
	must.Succeed(t, b.Close())
	if err := s.Stop(t.Context()); !fault.Is(err, fault.Canceled) {
		t.Errorf("Stop after Close: %v", err)
	}
	found, err := other.Get(t.Context(), "one")
	must.Succeed(t, err)
	if ask(t, found, request{Act: "pid"}).Out == "" {
		t.Error("no answer")
	}
}

func TestProgramThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.spec.Argv = []string{"/bin/true"}
	s, err := b.Start(t.Context(), b.spec)
	if err != nil { // ended before it could be watched
		if !fault.Is(err, fault.Unavailable) {
			t.Fatal(err)
		}
		return
	}
	<-s.Done()
	must.Report(t, s.Stop(t.Context()))
}

// TestInstall: the program is written before a start, and not before.
func TestInstall(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	self, installs := filepath.Join(t.TempDir(), "self"), 0
	full := errors.New("no space left")
	p, err := process.New(process.Options{Dir: b.dir, Self: self, Home: b.home, Install: func() error {
		if installs++; installs == 1 {
			return full
		}
		return os.Symlink(executable(t), self)
	}})
	must.Succeed(t, err)
	defer p.Close()
	if _, err := p.Start(t.Context(), b.spec); !errors.Is(err, full) {
		t.Errorf("where it cannot be written: %v", err)
	}
	s, err := p.Start(t.Context(), b.spec)
	must.Succeed(t, err)
	must.Report(t, s.Stop(t.Context()))
}

// TestMainWithoutMaybeInit: a binary without it gets a clear error.
func TestMainWithoutMaybeInit(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	p, err := process.New(process.Options{Dir: b.dir, Self: "/bin/true", Home: b.home})
	must.Succeed(t, err)
	defer p.Close()
	_, err = p.Start(t.Context(), b.spec)
	if !strings.Contains(fault.HintOf(err), "MaybeInit") {
		t.Errorf("error %v, hint %q", err, fault.HintOf(err))
	}
}

// TestDescriptorsDoNotLeak counts this process's descriptors over many sandboxes.
// It is not parallel, so that only its own sandboxes come and go.
func TestDescriptorsDoNotLeak(t *testing.T) {
	b := setup(t, "")
	before := children(t)
	// Close waits for the watchers, which hold a descriptor each.
	after := func(n int) int {
		b.Provider = b.provider(t, "")
		for range n {
			s := b.start(t)
			ask(t, s, request{Act: "pid"})
			must.Succeed(t, s.Stop(t.Context()))
		}
		for _, pid := range children(t) { // the proxy ends after its sandbox, and nothing reaps it after Close
			if !slices.Contains(before, pid) {
				waittest.Until(t, "process "+pid+" has ended and is reaped", func() bool {
					_, err := os.Stat("/proc/" + pid)
					return errors.Is(err, fs.ErrNotExist)
				})
			}
		}
		must.Succeed(t, b.Close())
		entries, err := os.ReadDir("/proc/self/fd")
		must.Succeed(t, err)
		return len(entries)
	}
	if one, many := after(1), after(10); many > one {
		t.Errorf("%d descriptors after one sandbox, %d after ten more", one, many)
	}
}

// children returns the ids of this process's children, also of children that have ended.
func children(t *testing.T) []string {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/children")
	must.Succeed(t, err)
	var ids []string
	for _, path := range threads {
		list, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) { // the thread has ended
			continue
		}
		must.Succeed(t, err)
		ids = append(ids, strings.Fields(string(list))...)
	}
	if len(threads) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("the kernel does not list children")
		}
		t.Skip("the kernel does not list children")
	}
	return ids
}

// TestBlockedNamespaces runs a provider inside a sandbox, where user
// namespaces are really refused: it must fall back, and say why.
func TestBlockedNamespaces(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	s := b.start(t)
	a := ask(t, s, request{Act: "nested"})
	if a.Code != 0 {
		t.Fatal(a.Out)
	}
	for _, want := range []string{"level=landlock", "missing=namespaces: make namespaces: operation not permitted", "answer=hello", "outside=denied"} {
		if !strings.Contains(a.Out, want) {
			t.Errorf("no %q in:\n%s", want, a.Out)
		}
	}
}

// TestNothingSurvivesTheServer: without a PID namespace too, the action server's
// children end with it.
func TestNothingSurvivesTheServer(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			s := b.start(t)
			name := filepath.Join(b.ws, "sleep-forever")
			a := sh(t, s, `cp "$(command -v sleep)" "$1" && { setsid "$1" 1000 >/dev/null 2>&1 & } ; setsid sh -c '"$1" 1000 & "$1" 1000 &' sh "$1" >/dev/null 2>&1`, name)
			if a.Code != 0 {
				t.Fatal(a)
			}
			server, err := strconv.Atoi(ask(t, s, request{Act: "pid"}).Out)
			must.Succeed(t, err)
			if level == process.LevelNamespaces {
				server = first(t, b)
			}
			must.Succeed(t, syscall.Kill(server, syscall.SIGKILL))
			<-s.Done()
			for _, pid := range running(t) {
				if exe, _ := os.Readlink("/proc/" + pid + "/exe"); exe == name {
					t.Errorf("process %s runs on", pid)
				}
			}
		})
	}
}

// first returns the sandbox's first process as seen from outside.
func first(t *testing.T, b *bench) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.dir, b.spec.ID, "state.json"))
	must.Succeed(t, err)
	var st struct{ PID int }
	must.Succeed(t, json.Unmarshal(raw, &st))
	return st.PID
}

func running(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	must.Succeed(t, err)
	for i := range dirs {
		dirs[i] = filepath.Base(dirs[i])
	}
	return dirs
}

// TestToolsWithoutSetID: ordinary tools keep working where a mode has no such bits.
func TestToolsWithoutSetID(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			s := b.start(t)
			a := sh(t, s, `exec 2>&1; mkdir d && cp -p hello d/ && install -m 755 hello d/prog && tar cf t.tar d && rm -r d && tar xpf t.tar && stat -c %a d/prog
				git init -q r && chmod 1777 d && mkdir -m 700 e && nice -n 1 true && (ulimit -n 64; true) && echo ok
				chmod 4755 d/prog || chmod g+s d/prog || echo refused`)
			if !strings.HasPrefix(a.Out, "755\nok\n") || !strings.HasSuffix(a.Out, "refused\n") {
				t.Errorf("got %q", a.Out)
			}
		})
	}
}
