package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/deft-dev/deft/fault"
)

const (
	// programEnd is how long a program has after SIGTERM, and its children have to close
	// its outputs.
	programEnd = 2 * time.Second
	// portTime is how long a program may take to accept a connection.
	portTime = 5 * time.Second
	// retryAccept is between two attempts where there are no descriptors.
	retryAccept = 50 * time.Millisecond
)

// Program says how [Assigned.Run] runs a program of the sandbox's own.
type Program struct {
	// Stdout and Stderr get its outputs; nil discards them.
	Stdout, Stderr io.Writer
	// Command changes the path and the arguments by which it is started; nil for none.
	Command func(path string, args []string) (string, []string)
}

// Run starts the program of an assignment with a Port, with the environment of this process,
// in a.Dir, and tells the client that it serves. Connections to the sandbox are passed on to
// its port, and closed while it does not listen. Run returns when the program has ended,
// with its exit code, 128 and the number of the signal that ended it as in a shell; the end
// of ctx ends it. The client is told of a program that cannot be started: fault.Invalid.
func (a *Assigned) Run(ctx context.Context, p Program) (code int, err error) {
	cmd, err := a.command(ctx, p)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		err = fault.Wrap(err, fault.Invalid, "command: "+strconv.Quote(a.Args[0])+" cannot be started in the sandbox")
		a.Fail(err)
		return 0, err
	}
	serve, stop := context.WithCancel(ctx)
	var served sync.WaitGroup
	served.Go(func() { forward(serve, a.Listener, a.Port) })
	err = cmd.Wait()
	stop()
	_ = a.Listener.Close() // its input is over
	served.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return 0, fault.Wrap(err, fault.Internal, "wait for the program")
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

func (a *Assigned) command(ctx context.Context, p Program) (*exec.Cmd, error) {
	path, err := exec.LookPath(a.Args[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, a.Args[1:]...)
	cmd.Args[0], cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = a.Args[0], a.Dir, p.Stdout, p.Stderr, programEnd
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if p.Command != nil {
		cmd.Path, cmd.Args = p.Command(cmd.Path, cmd.Args)
	}
	return cmd, nil
}

// forward passes connections on until the listener is closed or ctx ends, and waits for all.
func forward(ctx context.Context, l net.Listener, port int) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // too many descriptors, which connections that end give back
			select {
			case <-time.After(retryAccept):
				continue
			case <-ctx.Done():
				return
			}
		}
		open.Go(func() {
			defer conn.Close()
			if target, err := dialPort(ctx, port); err == nil { // otherwise the client sees that it is closed
				join(ctx, conn, target)
			}
		})
	}
}

func dialPort(ctx context.Context, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, portTime)
	defer cancel()
	var first error
	for _, host := range []string{"127.0.0.1", "::1"} {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return conn, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// join copies between two connections until both have closed their sides, one is broken, or
// ctx ends.
func join(ctx context.Context, a, b net.Conn) {
	closeBoth := func() { _, _ = a.Close(), b.Close() } // both are given up
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	var back sync.WaitGroup
	one := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); err == nil && ok {
			err = half.CloseWrite()
		}
		if err != nil {
			closeBoth()
		}
	}
	back.Go(func() { one(b, a) })
	one(a, b)
	back.Wait()
}
