package crash_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

// sign is something visible from outside while a task runs.
type sign int

const (
	started  sign = iota // deft was started
	asked                // a request has reached the LLM
	effected             // a file of the workspace has changed
	shown                // an event is stored and shown
	signs
)

// bench is the environment of one conversation: directories, the LLM, and signs.
type bench struct {
	t       *testing.T
	dir     string // holds all the others
	ws      string
	data    string
	effects int                 // that the script asks for
	flags   []string            // of deft run
	user    *syscall.Credential // nil for the user of the test
	llm     *llmtest.Server

	mu   sync.Mutex
	wake [signs]func() // called at each sign; nil for none
}

func setup(t *testing.T, flags ...string) *bench {
	t.Helper()
	return setupWith(t, actions, script, flags...)
}

// setupWith takes a script of its own, and how many effects that asks for.
func setupWith(t *testing.T, effects int, script func(ws string) *llmtest.Script, flags ...string) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "deft-crash-") //nolint:usetesting // kept when the test fails
	must.Succeed(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(dir)
		}
	})
	b := &bench{t: t, dir: dir, effects: effects, flags: flags}
	b.ws, b.data = filepath.Join(b.dir, "ws"), filepath.Join(b.dir, "data")
	must.Succeed(t, os.Mkdir(b.ws, 0o755))
	for _, name := range []string{"out.txt", "edit0.txt", "edit1.txt", "keep"} {
		must.Succeed(t, os.WriteFile(filepath.Join(b.ws, name), nil, 0o644))
	}
	b.llm = llmtest.StartWith(t, script(b.ws), llmtest.Options{
		MaxRecorded: -1, OnRequest: func(*llmtest.Request) { b.saw(asked) },
	})
	b.watch()
	return b
}

func (b *bench) saw(s sign) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wake[s] != nil {
		b.wake[s]()
	}
}

// on calls f at each sign s until the returned func is called.
func (b *bench) on(s sign, f func()) (off func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake[s] = f
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wake[s] = nil
	}
}

// watch turns changes of the workspace's files into signs (inotify(7)).
func (b *bench) watch() {
	b.t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must.Succeed(b.t, err)
	f := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, b.ws, unix.IN_MODIFY|unix.IN_MOVED_TO); err != nil {
		b.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 4096)
		for {
			if _, err := f.Read(buf); err != nil {
				return // closed below
			}
			b.saw(effected)
		}
	})
	b.t.Cleanup(func() { f.Close(); wg.Wait() })
}

// deftRun is one run of deft.
type deftRun struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{} // closed when it has ended
	err    error         // of it, once it has ended
}

// startDeft starts deft.
func (b *bench) startDeft(args ...string) *deftRun {
	b.t.Helper()
	l := &deftRun{ended: make(chan struct{})}
	l.cmd = b.deft(append([]string{"run", "--json", "--model", "openai/scripted", "--base-url", b.llm.URL + "/v1", "-C", b.ws}, args...)...)
	l.cmd.Args = append(l.cmd.Args, b.flags...)
	l.cmd.Stderr = &l.stderr
	out, in, err := os.Pipe()
	must.Succeed(b.t, err)
	l.cmd.Stdout = in
	must.Succeed(b.t, l.cmd.Start())
	in.Close()
	b.saw(started)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for r := bufio.NewReader(out); ; {
			_, err := r.ReadSlice('\n')
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
			case err == nil:
				b.saw(shown)
			case errors.Is(err, io.EOF):
				return
			default:
				b.t.Errorf("read what deft shows: %v", err)
				return
			}
		}
	}()
	go func() {
		l.err = l.cmd.Wait()
		<-read
		out.Close()
		close(l.ended)
	}()
	return l
}

// deft returns a command of the binary under test.
func (b *bench) deft(args ...string) *exec.Cmd {
	cmd := exec.Command(binary.Path(), args...)
	cmd.Dir = b.ws
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "DEFT_DATA=" + b.data, "LLM_API_KEY=none"}
	if b.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: b.user}
	}
	return cmd
}

// wait reports whether deft succeeded.
func (l *deftRun) wait() bool {
	<-l.ended
	return l.err == nil
}

// killed reports whether the run ended by a signal.
func (l *deftRun) killed() bool {
	var exit *exec.ExitError
	return errors.As(l.err, &exit) && !exit.Exited()
}

// moment is a point in a run: the n-th sign of a kind, and some time after it.
type moment struct {
	sign  sign
	n     int
	after time.Duration
}

// at calls f once, in another goroutine, at the moment; cancel prevents that or,
// if f has begun, waits for it.
func (b *bench) at(m moment, f func()) (cancel func()) {
	reached, stop := make(chan struct{}), make(chan struct{})
	left := m.n
	off := b.on(m.sign, func() {
		if left--; left == 0 {
			close(reached)
		}
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-reached:
		case <-stop:
			return
		}
		if m.after > 0 {
			timer := time.NewTimer(m.after)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-stop:
				return
			}
		}
		f()
	})
	return func() { off(); close(stop); wg.Wait() }
}
