// Package shell is `deft shell`: connects the terminal of a command to one in a sandbox.
//
// # Usage
//
//	t := &shell.Terminal{PTYs: terminals, Streams: std}
//	code, err := t.Run(ctx, argv, interactive)
//
// # Concurrency and failure
//
// A Terminal runs once. A connection that is lost is made again for ten seconds; output goes
// on where it was, and lost bytes are named.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Terminal connects this process's terminal to one in a sandbox.
type Terminal struct {
	PTYs    tool.PTYs
	Streams *stdio.Streams
	id      string

	mu   sync.Mutex
	conn tool.PTYConn
}

// Run runs a command, or a shell if there is none, and returns its exit code.
func (t *Terminal) Run(ctx context.Context, argv []string, interactive bool) (code int, err error) {
	spec := tool.PTYSpec{Argv: argv, Plain: !interactive}
	if interactive {
		spec.Term = t.Streams.Env("TERM")
		if cols, rows, err := term.GetSize(int(os.Stdout.Fd())); err == nil && rows > 0 && cols > 0 {
			spec.Rows, spec.Cols = min(rows, tool.MaxPTYSize), min(cols, tool.MaxPTYSize)
		}
	}
	p, err := t.PTYs.OpenPTY(ctx, spec)
	if err != nil {
		return 0, err
	}
	t.id = p.ID
	// It has ended, or this process was told to end.
	defer func() { _ = t.PTYs.ClosePTY(context.WithoutCancel(ctx), t.id) }()
	if t.conn, err = t.PTYs.AttachPTY(ctx, t.id, 0); err != nil {
		return 0, err
	}
	defer func() { _ = t.current().Close() }()
	stop := context.AfterFunc(ctx, func() { _ = t.current().Close() })
	defer stop()
	if interactive {
		state, failed := term.MakeRaw(int(os.Stdin.Fd()))
		if failed != nil {
			return 0, fault.Wrap(failed, fault.Unsupported, "set the terminal to raw mode")
		}
		defer func() { err = errors.Join(err, term.Restore(int(os.Stdin.Fd()), state)) }()
		go t.input() // ends with the process: a read of a terminal cannot be ended
		defer t.followSize(ctx)()
	}
	return t.output(ctx)
}

func (t *Terminal) current() tool.PTYConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conn
}

// input sends typed input. Input while the connection is lost is lost.
func (t *Terminal) input() {
	piece := make([]byte, 4096)
	for {
		n, err := t.Streams.In.Read(piece)
		if n > 0 {
			_, _ = t.current().Write(piece[:n]) // output finds out that the connection is lost
		}
		if err != nil {
			return
		}
	}
}

// followSize passes changes of the window's size on until stop is called.
func (t *Terminal) followSize(ctx context.Context) (stop func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-changed:
			case <-over:
				return
			}
			if cols, rows, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
				// A window without a size, or a terminal that has ended, changes nothing.
				_ = t.PTYs.ResizePTY(ctx, t.id, rows, cols)
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(over)
		<-done
	}
}

const (
	reattachFor   = 10 * time.Second
	reattachPause = 200 * time.Millisecond
)

// output shows the program's output until it has ended.
func (t *Terminal) output(ctx context.Context) (code int, err error) {
	offset := t.conn.Offset()
	piece := make([]byte, 32<<10)
	for {
		conn := t.current()
		n, err := conn.Read(piece)
		if n > 0 {
			offset += int64(n)
			if _, err := t.Streams.Out.Write(piece[:n]); err != nil {
				return 0, fmt.Errorf("write to the terminal: %w", err)
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return conn.ExitCode(), nil
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case fault.Is(err, fault.Unavailable):
			if offset, err = t.reattach(ctx, offset, err); err != nil {
				return 0, err
			}
		default:
			return 0, err
		}
	}
}

// reattach connects again after the connection was lost, and returns where the
// output goes on.
func (t *Terminal) reattach(ctx context.Context, offset int64, lost error) (int64, error) {
	for end := time.Now().Add(reattachFor); ; {
		conn, err := t.PTYs.AttachPTY(ctx, t.id, offset)
		switch {
		case err == nil:
			t.mu.Lock()
			t.conn = conn
			t.mu.Unlock()
			if lost := conn.Offset() - offset; lost > 0 {
				fmt.Fprintf(t.Streams.Err, "\r\n[%d bytes of output were lost with the connection]\r\n", lost)
			}
			return conn.Offset(), nil
		case !fault.Is(err, fault.Unavailable):
			return 0, errors.Join(lost, err)
		case time.Now().After(end):
			return 0, lost
		}
		select {
		case <-time.After(reattachPause):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
