package spawn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sys/unix"
)

// Starter forks from a thread of its own.
type Starter struct {
	mu     sync.Mutex // one command at a time: the socket is one queue
	ours   int        // descriptors go in here …
	orders chan Command
	pids   chan started
	turns  *semaphore.Weighted
}

type started struct {
	pid int
	err error
}

// errClosed is the error of Start after Close.
var errClosed = errors.New("the process starter is closed")

// New makes a Starter. Make it early: its thread begins with a copy of all
// descriptors. If the system does not permit it, New returns an error; use a nil
// *Starter then.
func New() (*Starter, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket for descriptors: %w", err)
	}
	s := &Starter{ours: pair[0], orders: make(chan Command), pids: make(chan started),
		turns: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))}
	ready := make(chan error)
	go s.lock(pair[1], ready)
	err = <-ready
	_ = unix.Close(pair[1]) // the thread has its own by now
	if err != nil {
		_ = unix.Close(pair[0])
		return nil, err
	}
	return s, nil
}

// Turn waits until few other processes are starting up. The caller calls leave
// when its process is ready. A thousand processes are ready equally soon if they
// start one after the other, and leave the machine usable meanwhile. The error
// comes from the context.
func (s *Starter) Turn(ctx context.Context) (leave func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	if err := s.turns.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { s.turns.Release(1) }, nil
}

// Close ends the thread. Started processes go on.
func (s *Starter) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orders != nil {
		close(s.orders)
		s.orders = nil
		_ = unix.Close(s.ours)
	}
}

// fork has the thread start a command.
func (s *Starter) fork(c Command, fds []int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orders == nil {
		return 0, errClosed
	}
	// The thread does not share our descriptors, so they are sent to it.
	if err := unix.Sendmsg(s.ours, []byte{0}, unix.UnixRights(fds...), nil, 0); err != nil {
		return 0, fmt.Errorf("hand over descriptors: %w", err)
	}
	s.orders <- c
	got := <-s.pids
	return got.pid, got.err
}

// lock takes a thread for good: it is never unlocked, so it ends with its
// goroutine. The main thread will not do, because /proc shows its descriptors as
// the process's; it is held until another one is found.
func (s *Starter) lock(socket int, ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		s.run(socket, ready)
		return
	}
	other := make(chan error)
	go s.lock(socket, other)
	err := <-other
	runtime.UnlockOSThread()
	ready <- err
}

// run is the thread. Nothing in it may make an *os.File: the poller would take
// the number for one of the other table.
func (s *Starter) run(socket int, ready chan<- error) {
	orders := s.orders
	err := ownTable()
	if err == nil {
		err = closeOthers(socket)
	}
	ready <- err
	if err != nil {
		return
	}
	for c := range orders {
		s.pids <- s.start(c, socket)
	}
}

// ownTable gives the thread a table of descriptors of its own. Containers often
// forbid unshare(2) but not close_range(2), which does so as well, and closes
// nothing where no numbers are.
func ownTable() error {
	if unix.CloseRange(math.MaxInt32, math.MaxUint32, unix.CLOSE_RANGE_UNSHARE) == nil {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return fmt.Errorf("give a thread descriptors of its own: %w", err)
	}
	return nil
}

func (s *Starter) start(c Command, socket int) started {
	fds, err := receive(socket, len(c.Files))
	if err != nil {
		return started{err: err}
	}
	pid, err := fork(c, fds)
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	return started{pid, err}
}

func receive(socket, n int) ([]int, error) {
	rights := make([]byte, unix.CmsgSpace(4*max(n, 1)))
	_, got, _, _, err := unix.Recvmsg(socket, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("take over descriptors: %w", err)
	}
	var fds []int
	messages, err := unix.ParseSocketControlMessage(rights[:got])
	for _, m := range messages {
		if more, err := unix.ParseUnixRights(&m); err == nil {
			fds = append(fds, more...)
		}
	}
	if err != nil || len(fds) != n {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		return nil, fmt.Errorf("take over descriptors: %d of %d came", len(fds), n)
	}
	return fds, nil
}

// closeOthers closes this thread's copies of descriptors, but for the first three,
// the socket, and the ones the Go runtime itself polls and wakes with: it does so
// on any thread.
func closeOthers(socket int) error {
	fds, err := listFDs()
	if err != nil {
		return fmt.Errorf("list the descriptors of a thread: %w", err)
	}
	target := make([]byte, 64)
	for _, fd := range fds {
		n, err := unix.Readlink("/proc/thread-self/fd/"+strconv.Itoa(fd), target)
		if err != nil {
			continue // the list's own
		}
		name := string(target[:n])
		if fd > 2 && fd != socket && !strings.HasPrefix(name, "anon_inode:[event") {
			_ = unix.Close(fd)
		}
	}
	return nil
}

// listFDs reads a directory without os.File, see run.
func listFDs() ([]int, error) {
	dir, err := unix.Open("/proc/thread-self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/proc/thread-self/fd", Err: err}
	}
	defer unix.Close(dir)
	var names []string
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if err != nil {
			return nil, os.NewSyscallError("getdents", err)
		}
		if n == 0 {
			break
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
	var fds []int
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil {
			fds = append(fds, fd)
		}
	}
	return fds, nil
}
