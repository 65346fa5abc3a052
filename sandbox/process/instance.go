package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/logfile"
	"github.com/deft-dev/deft/sandbox/internal/pidfd"
	"github.com/deft-dev/deft/sandbox/internal/socketpath"
)

// instance is a sandbox as one Provider sees it: its state, and a watcher
// that waits for its end.
type instance struct {
	p     *Provider
	id    string
	st    state
	pidfd *os.File
	ended chan struct{} // closed by the watcher when the process has ended
	// reason says why it has ended, once ended is closed.
	reason sandbox.Reason
	// stopping says that this provider ends it. Of a process that is no child of its own
	// it does not hear how it has ended.
	stopping atomic.Bool
}

// endTimeout bounds the wait for a sandbox that is ending by itself: its
// commands have seconds to stop.
const endTimeout = 20 * time.Second

// handle is the result of Start and Get: reused differs per call.
type handle struct {
	*instance
	reused bool
}

var _ sandbox.Sandbox = (*handle)(nil)

// ID implements sandbox.Sandbox.
func (in *instance) ID() string { return in.id }

// Reused implements sandbox.Sandbox.
func (h *handle) Reused() bool { return h.reused }

// Dial implements sandbox.Sandbox.
func (in *instance) Dial(ctx context.Context) (net.Conn, error) {
	return socketpath.Dial(ctx, filepath.Join(in.p.dir(in.id), socketName))
}

// Logs implements sandbox.Sandbox.
func (in *instance) Logs(ctx context.Context, max int64, follow bool) (io.ReadCloser, error) {
	return logfile.Open(ctx, filepath.Join(in.p.dir(in.id), logName), max, follow, in.ended)
}

// Report implements sandbox.Sandbox.
func (in *instance) Report() sandbox.Report { return in.st.Report }

// Done implements sandbox.Sandbox.
func (in *instance) Done() <-chan struct{} { return in.ended }

// Stop kills everything in the sandbox, waits until it has ended and removes
// its socket and control groups. The journal stays for a later Start. Stop of
// an ended sandbox only cleans up. The kill takes effect even if ctx ends first.
func (in *instance) Stop(ctx context.Context) error {
	if err := in.Resume(ctx); err != nil && !fault.Is(err, fault.NotFound) { // a frozen process does not die
		return err
	}
	in.stopping.Store(true)
	if err := in.kill(ctx); err != nil {
		return err
	}
	select {
	case <-in.ended:
	case <-ctx.Done():
		return fault.Wrap(context.Cause(ctx), fault.Timeout, "sandbox "+in.id+" has not ended yet")
	}
	dir := in.p.dir(in.id)
	unlock, err := lock(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed by another process
	}
	if err != nil {
		return err
	}
	defer unlock()
	st, err := readState(dir)
	if fault.Is(err, fault.NotFound) || err == nil && (st.PID != in.st.PID || st.Started != in.st.Started) {
		return nil // cleaned up, or started again, by another process
	}
	if err != nil {
		return err
	}
	return tidy(dir, st)
}

// listens reports whether the program still has its socket. A program that is
// ending, or was killed and waits for the rest of its namespace to end, has not.
func (in *instance) listens(ctx context.Context) bool {
	conn, err := in.Dial(ctx)
	if err != nil {
		return !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
	}
	conn.Close()
	return true
}

// awaitEnd waits for the end of a program that is ending.
func (in *instance) awaitEnd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	select {
	case <-in.ended:
		return nil
	case <-ctx.Done():
		return fault.Wrap(context.Cause(ctx), fault.Unavailable, "sandbox "+in.id+" is ending, and has not ended yet")
	}
}

// kill sends SIGKILL to process 1 of the namespace, whereupon the kernel kills
// the rest. Without a namespace the descendants are killed one by one.
func (in *instance) kill(ctx context.Context) error {
	var sent error
	rc, err := in.pidfd.SyscallConn()
	if err == nil {
		err = rc.Control(func(fd uintptr) {
			if in.st.Report.Level != LevelNamespaces {
				killTree(ctx, in.st)
			}
			sent = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0)
		})
	}
	if err != nil { // closed
		select {
		case <-in.ended:
			return nil
		default:
			return fault.New(fault.Canceled, "the sandbox provider is closed").Because(err)
		}
	}
	if sent == nil || errors.Is(sent, unix.ESRCH) {
		return nil
	}
	return fault.Wrap(sent, fault.Denied, "kill sandbox "+in.id)
}

// tidy removes the files of an ended sandbox, except its journal and log.
func tidy(dir string, st state) error {
	errs := removeCgroups(st.Cgroups)
	if st.Tmp != "" {
		errs = errors.Join(errs, os.RemoveAll(st.Tmp))
	}
	for _, name := range []string{socketName, "state.json"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = errors.Join(errs, err)
		}
	}
	if errs != nil {
		return fmt.Errorf("tidy up sandbox: %w", errs)
	}
	return nil
}

// tidyEnded cleans up after a sandbox that ended by itself.
func (p *Provider) tidyEnded(id string) error {
	st, err := readState(p.dir(id))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tidy(p.dir(id), st)
}

// find returns the running sandbox of that id, with a watcher.
func (p *Provider) find(id string) (*instance, error) {
	p.mu.Lock()
	in := p.live[id]
	p.mu.Unlock()
	if in != nil && in.st.alive() {
		return in, nil
	}
	st, err := readState(p.dir(id))
	if err != nil {
		return nil, err
	}
	if !st.alive() {
		return nil, fault.New(fault.NotFound, "sandbox "+id+" has ended")
	}
	return p.watch(id, st)
}

// watch opens the sandbox's process and starts the goroutine that waits for
// its end. Close ends that goroutine.
func (p *Provider) watch(id string, st state) (*instance, error) {
	fd, err := unix.PidfdOpen(st.PID, unix.PIDFD_NONBLOCK)
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			return nil, fault.New(fault.NotFound, "sandbox "+id+" has ended")
		}
		return nil, fmt.Errorf("watch sandbox: %w", err)
	}
	in := &instance{p: p, id: id, st: st, pidfd: os.NewFile(uintptr(fd), "pidfd"), ended: make(chan struct{})}
	if !st.alive() { // it ended, and the pid was reused, before the open
		in.pidfd.Close()
		return nil, fault.New(fault.NotFound, "sandbox "+id+" has ended")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		in.pidfd.Close()
		return nil, fault.New(fault.Canceled, "the sandbox provider is closed")
	}
	if other := p.live[id]; other != nil && other.st.PID == st.PID && other.st.Started == st.Started {
		in.pidfd.Close()
		return other, nil
	}
	p.live[id] = in
	left := make(chan struct{})
	p.wg.Go(func() {
		defer close(left)
		in.wait()
	})
	if st.WatchedMemory > 0 {
		p.wg.Go(func() { in.watchMemory(st.WatchedMemory, left) })
	}
	return in, nil
}

func (in *instance) unwatch() { in.pidfd.Close() }

// wait returns when the process has ended or unwatch was called.
func (in *instance) wait() {
	ended, exit := pidfd.Await(in.pidfd)
	in.p.mu.Lock()
	if in.p.live[in.id] == in {
		delete(in.p.live, in.id)
	}
	in.p.mu.Unlock()
	if ended {
		in.reason = reasonOf(in.st, exit)
		if in.reason.Cause == sandbox.CauseUnknown && in.stopping.Load() {
			in.reason = sandbox.Reason{Cause: sandbox.CauseKilled, Message: "stopped"}
		}
		close(in.ended)
	}
	in.pidfd.Close()
}
