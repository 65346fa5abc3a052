package ipython

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-zeromq/zmq4"

	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/aptget"
)

// kernel is a running kernel and the sockets to it.
type kernel struct {
	cmd     *exec.Cmd
	dir     string // of the sockets
	key     string
	session string
	cancel  context.CancelFunc // of the sockets
	work    sync.WaitGroup

	shell, control, iopub zmq4.Socket
	messages              chan message // of all sockets

	stderr tail
	done   chan struct{} // closed when the program has ended
	err    error         // of the program, then

	closing sync.Once
	closed  error
}

// noKernel says to the model why there is no kernel, and what to do.
type noKernel string

func (n noKernel) Error() string { return string(n) }

//go:embed kernel.py
var preparation string

// quietTime bounds code of ours in a kernel, which a thread of a cell may block.
const quietTime = 30 * time.Second

// startTime bounds the start of a kernel. It is long: a busy machine compiles Python's modules
// first.
const startTime = 90 * time.Second

// startKernel starts a kernel and waits until it answers. noKernel if Python or its kernel is
// missing.
func startKernel(ctx context.Context, c Config) (_ *kernel, err error) {
	python, err := lookup(c.Env, "python3", "python")
	if err != nil {
		return nil, noKernel("There is no Python here: no python3 is on PATH. " + aptget.Install(debian, with))
	}
	dir, err := os.MkdirTemp("", "deft-kernel-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the kernel's sockets: %w", err)
	}
	k := &kernel{dir: dir, key: rand.Text(), session: rand.Text(), messages: make(chan message, 64), done: make(chan struct{})}
	file := filepath.Join(dir, "kernel.json")
	about, err := json.Marshal(map[string]any{
		"transport": "ipc", "ip": filepath.Join(dir, "s"), "key": k.key, "signature_scheme": "hmac-sha256", "kernel_name": "python3",
		"shell_port": shellSocket, "iopub_port": iopubSocket, "stdin_port": 3, "control_port": controlSocket, "hb_port": 5,
	})
	if err == nil {
		err = os.WriteFile(file, about, 0o600)
	}
	if err == nil {
		err = k.start(c, python, file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a kernel: %w", err), os.RemoveAll(dir))
	}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err = k.connect(starting); err == nil {
		err = k.quietly(starting, fmt.Sprintf("%s\n_deft_kernel(%d)\ndel _deft_kernel", preparation, maxImage))
	}
	if err != nil {
		if k.ended() {
			err = k.missing(ctx, c, python)
		} else if ctx.Err() != nil {
			err = noKernel("The cell was not run: the user has interrupted the start of the kernel.")
		}
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

// lookup finds a program on the PATH of an environment.
func lookup(env []string, names ...string) (string, error) {
	path := ""
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for _, name := range names {
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err == nil && filepath.IsAbs(file) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

func (k *kernel) start(c Config, python, file string) error {
	// Without a database of its own history, which takes a third of a small cell's time, and keeps code on the disk.
	k.cmd = exec.CommandContext(context.Background(), python, "-m", "ipykernel_launcher", "-f", file, "--HistoryManager.enabled=False")
	if c.Command != nil {
		k.cmd.Path, k.cmd.Args = c.Command(k.cmd.Path, k.cmd.Args)
	}
	k.cmd.Dir, k.cmd.Env, k.cmd.Stderr = c.Dir, append(c.Env[:len(c.Env):len(c.Env)], "PYDEVD_DISABLE_FILE_VALIDATION=1"), &k.stderr
	if c.Isolated {
		k.cmd.Env = append(k.cmd.Env, "PIP_BREAK_SYSTEM_PACKAGES=1") // or %pip refuses, where the system keeps its packages to itself
	}
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	k.cmd.WaitDelay = time.Second // a program that a cell has left behind holds the output
	if err := k.cmd.Start(); err != nil {
		return err
	}
	k.work.Go(func() {
		k.err = k.cmd.Wait()
		close(k.done)
	})
	return nil
}

// The numbers of the sockets, which are the ends of their names.
const (
	shellSocket   = 1
	iopubSocket   = 2
	controlSocket = 4
)

// connect connects to the kernel, and waits until it answers and its output arrives.
func (k *kernel) connect(ctx context.Context) error {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k.cancel = cancel
	connected := make(chan struct{})
	defer close(connected)
	k.work.Go(func() { // a dial tries until its context ends
		select {
		case <-k.done:
			cancel()
		case <-ctx.Done():
			cancel()
		case <-connected:
		}
	})
	options := []zmq4.Option{
		zmq4.WithDialerRetry(5 * time.Millisecond), zmq4.WithDialerMaxRetries(-1), zmq4.WithID(zmq4.SocketIdentity(k.session)),
	}
	k.shell, k.control, k.iopub = zmq4.NewDealer(own, options...), zmq4.NewDealer(own, options...), zmq4.NewSub(own, options...)
	for _, s := range []struct {
		socket zmq4.Socket
		number int
	}{{k.iopub, iopubSocket}, {k.shell, shellSocket}, {k.control, controlSocket}} {
		if err := s.socket.Dial(fmt.Sprintf("ipc://%s-%d", filepath.Join(k.dir, "s"), s.number)); err != nil {
			return err
		}
	}
	if err := k.iopub.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		return err
	}
	for _, s := range []zmq4.Socket{k.shell, k.control, k.iopub} {
		k.work.Go(func() { k.read(own, s) })
	}
	return k.ready(ctx)
}

// ready waits until the kernel answers and its output arrives: output is lost until the
// subscription has reached the kernel, so it is asked until the idle status of a request comes.
func (k *kernel) ready(ctx context.Context) error {
	for {
		id, err := k.send(k.shell, "kernel_info_request", map[string]any{})
		if err != nil {
			return err
		}
		var late <-chan time.Time // after the answer, without its status
		for again, replied, idle := false, false, false; !again; {
			select {
			case m := <-k.messages:
				switch {
				case m.parent != id:
				case m.kind == "kernel_info_reply":
					replied, late = true, time.After(200*time.Millisecond)
				case m.kind == "status":
					idle = idle || m.state() == "idle"
				}
				if replied && idle {
					return nil
				}
			case <-late:
				again = true
			case <-k.done:
				return errors.New("the kernel has ended")
			case <-ctx.Done():
				return fmt.Errorf("wait for the kernel: %w", ctx.Err())
			}
		}
	}
}

// read passes the messages of a socket on.
func (k *kernel) read(ctx context.Context, s zmq4.Socket) {
	for {
		raw, err := s.Recv()
		if err != nil {
			return // the kernel has ended, or is ended
		}
		m, ok := parse(raw, k.key)
		if !ok {
			continue // of nobody who knows the key
		}
		select {
		case k.messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

func (k *kernel) send(s zmq4.Socket, kind string, content any) (id string, err error) {
	id = rand.Text()
	m, err := compose(id, k.session, kind, content, k.key)
	if err != nil {
		return "", err
	}
	return id, s.Send(m)
}

func (k *kernel) ended() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// cause says how the program has ended.
func (k *kernel) cause() string {
	if k.err == nil || errors.Is(k.err, exec.ErrWaitDelay) { // a program that it has left behind holds the output
		return "exit status 0"
	}
	return k.err.Error()
}

// grace is how long a cell may take to end after an interrupt, which is repeated: one that comes
// while the kernel sends output may be lost.
const (
	grace   = 10 * time.Second
	repeats = 10
)

// run runs a cell until it ends, the time is over or ctx ends.
func (k *kernel) run(ctx context.Context, code string, timeout time.Duration, progress func(tool.Chunk)) *result {
	r := &result{progress: progress}
	id, err := k.send(k.shell, "execute_request", request(code, false))
	if err != nil {
		r.fail("The cell could not be sent to the kernel: " + err.Error())
		return r
	}
	over := time.NewTimer(timeout)
	defer over.Stop()
	interrupted := ctx.Done()
	var limit <-chan time.Time
	why, attempts := "", 0
	interrupt := func() {
		attempts++
		limit = time.After(grace / repeats)
		if _, err := k.send(k.control, "interrupt_request", map[string]any{}); err != nil {
			_ = syscall.Kill(-k.cmd.Process.Pid, syscall.SIGINT) // it may have ended
		}
	}
	stop := func(text string) {
		why, interrupted, r.failed = text, nil, true
		interrupt()
	}
	replied, idle := false, false
	for !replied || !idle {
		select {
		case m := <-k.messages:
			if m.parent != id { // of an earlier cell's thread
				continue
			}
			switch m.kind {
			case "status":
				idle = idle || m.state() == "idle"
			case "execute_reply":
				replied = true
			default:
				r.take(m)
			}
		case <-over.C:
			r.timedOut = true
			stop(fmt.Sprintf("[The cell was interrupted: it ran longer than %g seconds.]", timeout.Seconds()))
		case <-interrupted:
			stop("[The user has interrupted the cell.]")
		case <-limit:
			if attempts < repeats {
				interrupt()
				continue
			}
			_ = syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
			limit = nil
		case <-k.done:
			r.drain(k.messages, id)
			if why == "" {
				why = fmt.Sprintf("[The kernel has died (%s).", k.cause())
			} else {
				why = strings.TrimSuffix(why, "]") + " It did not stop, and the kernel was ended."
			}
			r.fail(why + " The next cell has a fresh kernel: variables and imports are gone.]")
			return r
		}
	}
	if why != "" {
		r.fail(why)
	}
	return r
}

// quietly runs code that shows nothing. The error says that it has failed.
func (k *kernel) quietly(ctx context.Context, code string) error {
	id, err := k.send(k.shell, "execute_request", request(code, true))
	if err != nil {
		return err
	}
	late := time.After(quietTime)
	for {
		select {
		case m := <-k.messages:
			if m.parent != id || m.kind != "execute_reply" {
				continue
			}
			var reply struct{ Status, Ename, Evalue string }
			if err := json.Unmarshal(m.content, &reply); err != nil || reply.Status != "ok" {
				return fmt.Errorf("the kernel answers %s %s %s", reply.Status, reply.Ename, reply.Evalue)
			}
			return nil
		case <-k.done:
			return errors.New("the kernel has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return errors.New("the kernel does not answer")
		}
	}
}

// close ends the kernel and what it has started.
func (k *kernel) close() error {
	k.closing.Do(func() {
		_ = syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		<-k.done
		if k.cancel != nil {
			k.cancel()
		}
		for _, s := range []zmq4.Socket{k.shell, k.control, k.iopub} {
			if s != nil {
				_ = s.Close() // the other end is gone
			}
		}
		k.work.Wait()
		k.closed = os.RemoveAll(k.dir)
	})
	return k.closed
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	const kept = 2000
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if over := len(t.end) - kept; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(bytes.TrimSpace(t.end)), "?")
}
