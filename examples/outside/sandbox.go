package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// Provider runs each sandbox as a child process. It isolates nothing, and its
// reports say so: use a container or a virtual machine instead of exec.Command.
type Provider struct {
	dir string

	mu      sync.Mutex
	running map[string]*child
}

var _ sandbox.Provider = (*Provider)(nil)

// NewProvider returns a Provider that keeps sockets and journals below dir.
func NewProvider(dir string) *Provider { return &Provider{dir: dir, running: map[string]*child{}} }

// Start implements [sandbox.Provider].
func (p *Provider) Start(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.running[s.ID]; c != nil && !c.ended() {
		return found{c}, nil
	}
	if len(s.Argv) == 0 || filepath.Base(s.ID) != s.ID {
		return nil, fault.New(fault.Invalid, "a sandbox needs a program and an id that names a file")
	}
	c, err := p.launch(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("start sandbox %s: %w", s.ID, err)
	}
	p.running[s.ID] = c
	return c, nil
}

// launch gives the program its socket as descriptor 3 and its journal, which
// outlives it, as descriptor 4.
func (p *Provider) launch(ctx context.Context, s sandbox.Spec) (_ *child, err error) {
	dir := filepath.Join(p.dir, s.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c := &child{
		status: sandbox.Status{ID: s.ID, State: sandbox.Running, Started: time.Now(), Workspace: s.Workspace},
		socket: filepath.Join(dir, "socket"), done: make(chan struct{}),
	}
	if err := os.RemoveAll(c.socket); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", c.socket)
	if err != nil {
		return nil, err
	}
	unix := listener.(*net.UnixListener)
	unix.SetUnlinkOnClose(false)
	defer func() { err = errors.Join(err, unix.Close()) }()
	socket, err := unix.File()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, socket.Close()) }()
	journal, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()

	// The sandbox outlives the start.
	c.cmd = exec.CommandContext(context.WithoutCancel(ctx), s.Argv[0], s.Argv[1:]...)
	c.cmd.Dir, c.cmd.Env, c.cmd.ExtraFiles = s.Workspace, s.Env, []*os.File{socket, journal}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // ProcessState says how it ended
	}()
	return c, nil
}

// Get implements [sandbox.Provider].
func (p *Provider) Get(_ context.Context, id string) (sandbox.Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.running[id]; c != nil && !c.ended() {
		return found{c}, nil
	}
	return nil, fault.New(fault.NotFound, "no sandbox "+id)
}

// List implements [sandbox.Provider].
func (p *Provider) List(context.Context) ([]sandbox.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.running, func(_ string, c *child) bool { return c.ended() })
	var list []sandbox.Status
	for _, id := range slices.Sorted(maps.Keys(p.running)) {
		list = append(list, p.running[id].status)
	}
	return list, nil
}

// Remove implements [sandbox.Provider].
func (p *Provider) Remove(ctx context.Context, id string) error {
	s, err := p.Get(ctx, id)
	if err == nil {
		err = s.Stop(ctx)
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return os.RemoveAll(filepath.Join(p.dir, filepath.Base(id)))
}

// child is a running sandbox.
type child struct {
	status sandbox.Status
	cmd    *exec.Cmd
	socket string
	done   chan struct{} // closed when the process has ended
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Dial implements [sandbox.Sandbox].
func (c *child) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.socket)
	return conn, fault.Wrap(err, fault.Unavailable, "the sandbox does not answer")
}

// ID implements [sandbox.Sandbox].
func (c *child) ID() string { return c.status.ID }

// Status implements [sandbox.Sandbox].
func (c *child) Status(context.Context) (sandbox.Status, error) {
	s := c.status
	if c.ended() {
		s.State, s.Reason = sandbox.Ended, sandbox.Reason{Cause: sandbox.CauseExited, ExitCode: c.cmd.ProcessState.ExitCode()}
	}
	return s, nil
}

// Pause implements [sandbox.Sandbox], which here can do less than the interface
// offers, and says so.
func (*child) Pause(context.Context) error { return errNotHere }

// Resume implements [sandbox.Sandbox]: nothing is ever paused.
func (*child) Resume(context.Context) error { return nil }

// Stats implements [sandbox.Sandbox].
func (*child) Stats(context.Context) (sandbox.Stats, error) { return sandbox.Stats{}, errNotHere }

// Logs implements [sandbox.Sandbox].
func (*child) Logs(context.Context, int64, bool) (io.ReadCloser, error) { return nil, errNotHere }

var errNotHere = fault.New(fault.Unsupported, "this example only starts and stops")

// Report implements [sandbox.Sandbox].
func (*child) Report() sandbox.Report {
	return sandbox.Report{Level: "none", Missing: []sandbox.Missing{{Feature: "isolation", Reason: "this is an example"}}}
}

// Reused implements [sandbox.Sandbox].
func (*child) Reused() bool { return false }

// Stop implements [sandbox.Sandbox]: the server ends its actions.
func (c *child) Stop(ctx context.Context) error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fault.Wrap(context.Cause(ctx), fault.Timeout, "the sandbox has not ended yet")
	}
}

// Done implements [sandbox.Sandbox].
func (c *child) Done() <-chan struct{} { return c.done }

// found is a sandbox that ran already.
type found struct{ *child }

// Reused implements [sandbox.Sandbox].
func (found) Reused() bool { return true }
