package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
)

// grace is how long a server over stdio may take to end once its input is
// closed, and again once it was asked to.
const grace = 2 * time.Second

// inherited are the variables of this process that a server over stdio gets, as in
// the protocol's own libraries: nothing that could be a secret.
var inherited = []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}

// program is a running server over stdio. It is an [sdk.Transport].
type program struct {
	cmd    *exec.Cmd
	stderr *tail
	in     io.WriteCloser
	out    io.ReadCloser

	once  sync.Once
	ended chan struct{} // closed when the process has ended
}

// start runs a server's command by argv.
func start(s Server, dir string) (*program, error) {
	// It outlives the call that needs it first; Close ends its whole group.
	cmd := exec.CommandContext(context.Background(), s.Command, s.Args...)
	cmd.Dir = dir
	if s.Cwd != "" {
		cmd.Dir = s.Cwd
	}
	cmd.Env = environment(s.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = grace
	p := &program{cmd: cmd, stderr: &tail{limit: maxStderr}, ended: make(chan struct{})}
	cmd.Stderr = p.stderr
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	// A pipe of our own: Wait would close that of the package under a reader.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	p.out, cmd.Stdout = read, write
	err = cmd.Start()
	write.Close()
	if err != nil {
		read.Close()
		return nil, fault.Wrap(err, fault.Unavailable, "start "+s.Command)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended does not matter; what it said on stderr does
	}()
	return p, nil
}

func environment(own map[string]string) []string {
	env := make([]string, 0, len(inherited)+len(own))
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		env = append(env, name+"="+own[name])
	}
	return env
}

// Connect implements [sdk.Transport].
func (p *program) Connect(ctx context.Context) (sdk.Connection, error) {
	return (&sdk.IOTransport{Reader: newLines(p.out), Writer: p, MaxLineLength: maxMessage}).Connect(ctx)
}

// Write and Close make a program the writing end of its transport. Close also
// ends the process.
func (p *program) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends the server as the protocol asks: end of input, then SIGTERM, then
// SIGKILL, to its whole process group.
func (p *program) Close() error {
	p.once.Do(func() {
		p.in.Close()
		if !p.endsWithin(grace) {
			p.signal(syscall.SIGTERM)
			p.endsWithin(grace)
		}
		p.signal(syscall.SIGKILL) // what is left of the group, even if its first process has ended
		<-p.ended
	})
	return nil
}

func (p *program) signal(s syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, s) // it may have ended already
}

func (p *program) endsWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.ended:
		return true
	case <-t.C:
		return false
	}
}

// explain adds what the program said on stderr to an error.
func (p *program) explain(err error) error {
	said := describe(p.stderr.String(), maxStderr)
	if err == nil || said == "" {
		return err
	}
	return fmt.Errorf("%w; it said: %s", err, said)
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int

	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-t.limit):]...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

var errClosed = errors.New("the MCP client has been closed and cannot be reconnected")
