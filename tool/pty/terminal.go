package pty

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/tty"
)

const (
	// hangUp is how long programs may take to end after SIGHUP.
	hangUp = 2 * time.Second
	// maxRest bounds the output that is read of a terminal whose program has ended
	// while others still write; the kernel keeps no more than about 64 KB.
	maxRest = 256 << 10
)

// terminal is one pseudo terminal. One goroutine reads its output, one writes its
// input and one waits for its program.
type terminal struct {
	id      string
	argv    []string
	started time.Time
	cmd     *exec.Cmd
	master  *os.File
	limit   int // of scrollback
	input   chan []byte
	over    chan struct{} // closed when the program has ended and its output is read

	mu         sync.Mutex
	changed    sync.Cond // output has come or was read, or conn has changed
	rows, cols int
	kept       ring
	conn       *conn // nil for none
	ended      bool  // the rest is valid
	code       int
	waited     bool // the program has ended, and its output is read without waiting
}

func newTerminal(id string, cmd *exec.Cmd, master *os.File, scrollback int) *terminal {
	t := &terminal{
		id: id, cmd: cmd, master: master, limit: scrollback, kept: ring{limit: scrollback},
		input: make(chan []byte), over: make(chan struct{}),
	}
	t.changed.L = &t.mu
	return t
}

// run starts the goroutines.
func (t *terminal) run() {
	read := make(chan struct{})
	go func() {
		defer close(read)
		t.receive()
	}()
	written := make(chan struct{})
	go func() {
		defer close(written)
		t.send()
	}()
	go func() {
		_ = t.cmd.Wait() // its state says how it ended
		t.mu.Lock()
		t.waited = true
		t.changed.Broadcast()
		t.mu.Unlock()
		_ = t.master.SetReadDeadline(time.Unix(1, 0)) // processes in the background may hold the terminal
		<-read
		_ = t.master.Close() // ends send
		t.mu.Lock()
		t.ended, t.code = true, exitCode(t.cmd.ProcessState)
		t.changed.Broadcast()
		t.mu.Unlock()
		close(t.over)
		<-written
	}()
}

// exitCode is the exit code as a shell counts it.
func exitCode(s *os.ProcessState) int {
	if s == nil { // it was reaped elsewhere
		return 255
	}
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}

// receive keeps the programs' output until the last one has ended, or the
// terminal's own.
func (t *terminal) receive() {
	piece := make([]byte, min(16<<10, t.limit)) // more than is kept would wait forever
	for {
		n, err := t.master.Read(piece)
		t.keep(piece[:n])
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			t.receiveRest(piece)
			return
		default: // EIO: no process has it open
			return
		}
	}
}

// receiveRest reads the bytes that the kernel still has.
func (t *terminal) receiveRest(piece []byte) {
	raw, err := t.master.SyscallConn()
	if err != nil {
		return
	}
	for got := 0; got < maxRest; {
		n := 0
		failed := raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), piece) })
		if failed != nil || err != nil || n <= 0 {
			return
		}
		t.keep(piece[:n])
		got += n
	}
}

// keep adds output. It waits for a client that lags a whole scrollback behind,
// and the program with it, until the program has ended.
func (t *terminal) keep(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.conn != nil && !t.waited && t.kept.end+int64(len(b))-t.conn.next > int64(t.limit) {
		t.changed.Wait()
	}
	t.kept.add(b)
	t.changed.Broadcast()
}

// send writes input to the terminal, as fast as the programs take it.
func (t *terminal) send() {
	for {
		select {
		case b := <-t.input:
			if _, err := t.master.Write(b); err != nil {
				return
			}
		case <-t.over:
			return
		}
	}
}

func (t *terminal) describe() tool.PTY {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := tool.PTY{ID: t.id, Argv: t.argv, Started: t.started, Rows: t.rows, Cols: t.cols, Attached: t.conn != nil}
	if t.ended {
		code := t.code
		d.ExitCode = &code
	}
	return d
}

// resize does nothing to a terminal that has ended.
func (t *terminal) resize(rows, cols int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil
	}
	raw, err := t.master.SyscallConn()
	if err != nil {
		return fault.Wrap(err, fault.Internal, "resize the terminal")
	}
	var ioctl error
	err = raw.Control(func(fd uintptr) {
		ioctl = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)})
	})
	switch {
	case errors.Is(err, os.ErrClosed): // it ends now
		return nil
	case err != nil || ioctl != nil:
		return fault.Wrap(errors.Join(err, ioctl), fault.Internal, "resize the terminal")
	}
	t.rows, t.cols = rows, cols
	return nil
}

// end ends the programs of the terminal, and disconnects its client.
func (t *terminal) end() error {
	t.forget()
	pid := t.cmd.Process.Pid
	select {
	case <-t.over: // its process group may be another's by now
		return nil
	default:
	}
	_ = syscall.Kill(-pid, syscall.SIGHUP) // it may have ended
	_ = syscall.Kill(-pid, syscall.SIGCONT)
	late := time.NewTimer(hangUp)
	defer late.Stop()
	select {
	case <-t.over:
	case <-late.C:
	}
	err := tty.KillSessions([]int{pid}) // also processes that ignore SIGHUP in the background
	<-t.over
	return err
}

// forget disconnects the client for good.
func (t *terminal) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		t.conn.why = fault.New(fault.NotFound, "the terminal was closed")
		close(t.conn.left)
		t.conn = nil
		t.changed.Broadcast()
	}
}

// attach connects a client, in place of the one before.
func (t *terminal) attach(offset int64) (*conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if offset < 0 || offset > t.kept.end {
		return nil, fault.New(fault.Invalid, "the terminal has not written that much")
	}
	if t.conn != nil {
		t.conn.why = fault.New(fault.Conflict, "another client has connected to the terminal")
		close(t.conn.left)
	}
	at := max(offset, t.kept.start())
	t.conn = &conn{t: t, first: at, next: at, left: make(chan struct{})}
	t.changed.Broadcast()
	return t.conn, nil
}

// conn is a client's connection.
type conn struct {
	t     *terminal
	first int64
	left  chan struct{} // closed when the client is disconnected

	// The rest is guarded by t.mu.
	next int64
	why  error // why it is disconnected
}

var _ tool.PTYConn = (*conn)(nil)

// Offset implements [tool.PTYConn].
func (c *conn) Offset() int64 { return c.first }

// ExitCode implements [tool.PTYConn].
func (c *conn) ExitCode() int {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	return c.t.code
}

// Read implements [tool.PTYConn].
func (c *conn) Read(b []byte) (int, error) {
	t := c.t
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch {
		case c.why != nil:
			return 0, c.why
		case c.next < t.kept.end:
			n := t.kept.copy(b, c.next)
			c.next += int64(n)
			t.changed.Broadcast()
			return n, nil
		case t.ended:
			return 0, io.EOF
		case len(b) == 0:
			return 0, nil
		}
		t.changed.Wait()
	}
}

// maxInput is how much input is on its way to the terminal at one time.
const maxInput = 4 << 10

// Write implements [tool.PTYConn]. Input for a program that has ended is dropped.
func (c *conn) Write(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		if err := c.gone(); err != nil {
			return n, err
		}
		piece := append([]byte(nil), b[n:min(n+maxInput, len(b))]...)
		select {
		case c.t.input <- piece:
			n += len(piece)
		case <-c.left:
			return n, c.gone()
		case <-c.t.over:
			return len(b), nil
		}
	}
	return n, nil
}

// gone returns why the client is disconnected; nil if it is not.
func (c *conn) gone() error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	return c.why
}

// Close implements [tool.PTYConn]. The terminal goes on.
func (c *conn) Close() error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if c.t.conn == c {
		c.why = errClosed
		c.t.conn = nil
		close(c.left)
		c.t.changed.Broadcast()
	}
	return nil
}

var errClosed = fault.New(fault.Canceled, "the connection to the terminal is closed")
