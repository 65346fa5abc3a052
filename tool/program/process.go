package program

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/deft-dev/deft/tool"
)

// Grace is how long a program may take to end once its input is closed, and
// again once it got SIGTERM.
const Grace = 2 * time.Second

// maxStderr is how much of a program's standard error is kept, in bytes.
const maxStderr = 4 << 10

// process is a program in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	stderr *tail
	remove string // a directory to remove in the end

	ended chan struct{} // closed when the first process has ended
	once  sync.Once
	err   error // of Close
}

var _ tool.Process = (*process)(nil)

func run(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, stderr: &tail{limit: maxStderr}, ended: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = Grace
	cmd.Stderr = p.stderr
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	// A pipe of our own: Wait would close the package's under a reader.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	p.out, cmd.Stdout = read, write
	err = cmd.Start()
	write.Close()
	if err != nil {
		read.Close()
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // its exit does not matter; its stderr does
	}()
	return p, nil
}

// Read implements [tool.Process].
func (p *process) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if errors.Is(err, fs.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Write implements [tool.Process].
func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Stderr implements [tool.Process].
func (p *process) Stderr() string { return p.stderr.String() }

// Close implements [tool.Process].
func (p *process) Close() error {
	p.once.Do(func() {
		_ = p.in.Close() // it may be closed already
		if !p.endsWithin(Grace) {
			p.signal(syscall.SIGTERM)
			p.endsWithin(Grace)
		}
		p.signal(syscall.SIGKILL) // the rest of the group, even if its first process has ended
		<-p.ended
		p.err = p.out.Close()
		if p.remove != "" {
			p.err = errors.Join(p.err, os.RemoveAll(p.remove))
		}
	})
	return p.err
}

func (p *process) signal(s syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, s) // it may have ended already
}

func (p *process) endsWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.ended:
		return true
	case <-t.C:
		return false
	}
}

// tail keeps the end of its input.
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
