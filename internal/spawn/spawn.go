// Package spawn starts and awaits child processes at a cost that does not grow
// with the number of the parent's open files.
//
// A fork copies the parent's table of descriptors and an exec closes the copy
// one by one: a server with a thousand conversations spends milliseconds of
// every new shell on that. And os/exec keeps a thread waiting for every child.
// A [Starter] forks from one thread that has a table of its own with hardly
// anything in it, and [Process.Wait] is woken by the poller of the Go runtime
// (pidfd_open(2)) and takes no thread where the kernel can do that.
//
// A nil *Starter is usable and forks in the ordinary way, which is fine for a
// process with few descriptors. All methods may be called concurrently.
package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command describes the program to run.
type Command struct {
	// Path is the program's file; it is not searched for.
	Path string
	// Args are its arguments, the name that it is called by first.
	Args []string
	// Env is its whole environment, as KEY=value.
	Env []string
	// Dir is where it begins.
	Dir string
	// Files become its descriptors 0, 1, 2 and so on. They stay the caller's.
	Files []*os.File
	// Sys is as in os.ProcAttr; nil for nothing special.
	Sys *syscall.SysProcAttr
}

// Start runs a command. The error comes from fork, from exec or from the
// directory, as from os.StartProcess. A program that is open for writing is tried again
// for some seconds: a file that this process has just written stays open in each child that
// another goroutine starts meanwhile, until the child's exec (https://go.dev/issue/22315).
func (s *Starter) Start(c Command) (*Process, error) {
	fds, err := descriptors(c.Files)
	if err != nil {
		return nil, err
	}
	start := fork
	if s != nil {
		start = s.fork
	}
	pid, err := start(c, fds)
	for wait := time.Millisecond; errors.Is(err, syscall.ETXTBSY) && wait < 4*time.Second; wait *= 2 {
		time.Sleep(wait)
		pid, err = start(c, fds)
	}
	runtime.KeepAlive(c.Files) // open until here
	if err != nil {
		return nil, &os.PathError{Op: "fork/exec", Path: c.Path, Err: err}
	}
	return newProcess(pid), nil
}

// descriptors returns the numbers of files without changing their modes, as
// File.Fd would.
func descriptors(files []*os.File) ([]int, error) {
	fds := make([]int, len(files))
	for i, f := range files {
		raw, err := f.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { fds[i] = int(fd) })
		}
		if err != nil {
			return nil, fmt.Errorf("use %s for a new process: %w", f.Name(), err)
		}
	}
	return fds, nil
}

// fork starts a command from the calling thread.
func fork(c Command, fds []int) (int, error) {
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Files: make([]uintptr, len(fds)), Sys: c.Sys}
	for i, fd := range fds {
		attr.Files[i] = uintptr(fd)
	}
	return syscall.ForkExec(c.Path, c.Args, attr)
}

// Process is a child that was started.
type Process struct {
	pid    int
	handle *os.File // nil where the kernel has none

	mu    sync.Mutex
	ended bool // its pid may belong to another process now
}

// Adopt returns a child of this process that was started otherwise. Nothing else may wait
// for it.
func Adopt(pid int) *Process { return newProcess(pid) }

func newProcess(pid int) *Process {
	p := &Process{pid: pid}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err == nil { // else the wait takes a thread
		p.handle = os.NewFile(uintptr(fd), "pidfd")
	}
	return p
}

// PID returns its process id, which is valid until Wait has returned.
func (p *Process) PID() int { return p.pid }

// Kill sends it SIGKILL. os.ErrProcessDone if it has ended.
func (p *Process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.pid, syscall.SIGKILL)
}

// Wait waits for its end, reaps it, and returns how it ended. It must be called
// exactly once.
func (p *Process) Wait() (status syscall.WaitStatus, err error) {
	if p.handle == nil {
		return p.waitBlocking()
	}
	defer p.handle.Close()
	raw, err := p.handle.SyscallConn()
	if err != nil {
		return p.waitBlocking()
	}
	var failed error
	err = raw.Read(func(uintptr) bool {
		status, failed = p.reap()
		return !errors.Is(failed, errAlive)
	})
	if err != nil { // the poller does not support such descriptors
		return p.waitBlocking()
	}
	return status, failed
}

func (p *Process) waitBlocking() (syscall.WaitStatus, error) {
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return p.reap()
		}
		if !errors.Is(err, unix.EINTR) {
			return 0, fmt.Errorf("wait for process %d: %w", p.pid, err)
		}
	}
}

var errAlive = errors.New("the process has not ended")

// reap collects a process that has ended.
func (p *Process) reap() (status syscall.WaitStatus, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pid, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil)
	switch {
	case err != nil:
		return 0, fmt.Errorf("wait for process %d: %w", p.pid, err)
	case pid == 0:
		return 0, errAlive
	}
	p.ended = true
	return status, nil
}
