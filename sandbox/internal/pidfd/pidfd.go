// Package pidfd waits for the end of processes by descriptor, so that no other
// process that gets the same number is meant. Functions and types are safe for
// concurrent use.
package pidfd

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Exit says how a process has ended.
type Exit struct {
	Code   int
	Signal syscall.Signal // 0 if it ended by itself
}

// Open returns a descriptor of a process, for Await.
func Open(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// Await waits until a process has ended, and collects it if it is a child,
// which is when exit says how; or, with false, until its descriptor is closed.
func Await(process *os.File) (ended bool, exit *Exit) {
	rc, err := process.SyscallConn()
	if err != nil {
		return false, nil // closed before it began
	}
	// A pidfd is readable once the process is a zombie or has ended, pidfd_open(2).
	_ = rc.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		if err == nil && n > 0 {
			ended = true
			var info unix.Siginfo
			// If it is no child of ours, ECHILD says that its parent collects it.
			if unix.Waitid(unix.P_PIDFD, int(fd), &info, unix.WEXITED|unix.WNOHANG, nil) == nil {
				exit = exitOf(&info)
			}
		}
		return ended
	})
	return ended, exit
}

// exitOf reads the report of waitid(2); nil if another waiter was faster.
func exitOf(info *unix.Siginfo) *Exit {
	const exited, statusAt = 1, 24 // CLD_EXITED; si_status on 64-bit machines
	status := *(*int32)(unsafe.Add(unsafe.Pointer(info), statusAt))
	switch {
	case info.Signo == 0:
		return nil
	case info.Code == exited:
		return &Exit{Code: int(status)}
	}
	return &Exit{Signal: syscall.Signal(status)}
}

// Collector waits, in the background, for the ends of children that live as long as
// they like. Its zero value is ready.
type Collector struct {
	mu      sync.Mutex
	waiting map[*os.File]bool
	closed  bool
	wg      sync.WaitGroup
}

// Collect waits for a child.
func (c *Collector) Collect(pid int) error {
	f, err := Open(pid)
	if err != nil {
		return fmt.Errorf("watch process: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return f.Close()
	}
	if c.waiting == nil {
		c.waiting = map[*os.File]bool{}
	}
	c.waiting[f] = true
	c.wg.Go(func() {
		Await(f)
		c.mu.Lock()
		delete(c.waiting, f)
		c.mu.Unlock()
		f.Close()
	})
	return nil
}

// Close ends the waiting. The children live on.
func (c *Collector) Close() {
	c.mu.Lock()
	c.closed = true
	for f := range c.waiting {
		f.Close()
	}
	c.mu.Unlock()
	c.wg.Wait()
}
