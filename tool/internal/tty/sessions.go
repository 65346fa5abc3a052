package tty

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// KillSessions ends all processes of the given sessions, those in the
// background too. Processes that made a session of their own (daemons) are
// out of its reach; the sandbox ends them.
func KillSessions(ids []int) error {
	// A process may fork while the list is read: once more until it is empty.
	// A process that hangs in the kernel is not waited for longer than this.
	for range 5 {
		members, err := SessionMembers(ids)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			return nil
		}
		for _, pid := range members {
			// It may have ended by itself meanwhile.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		awaitEnds(members, time.Second)
	}
	return nil
}

// awaitEnds returns when all of the processes have ended, or after a while.
func awaitEnds(pids []int, limit time.Duration) {
	var waiting []unix.PollFd
	for _, pid := range pids {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil { // otherwise it has ended
			waiting = append(waiting, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
			defer unix.Close(fd)
		}
	}
	for end := time.Now().Add(limit); len(waiting) > 0 && time.Now().Before(end); {
		_, err := unix.Poll(waiting, int(max(time.Until(end).Milliseconds(), 1)))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		waiting = slices.DeleteFunc(waiting, func(p unix.PollFd) bool { return p.Revents != 0 })
	}
}

// SessionMembers lists the living processes of the given sessions.
func SessionMembers(ids []int) ([]int, error) {
	sessions, err := allProcesses.count()
	if err != nil {
		return nil, err
	}
	var members []int
	for _, id := range ids {
		members = append(members, sessions[id]...)
	}
	return slices.DeleteFunc(members, dead), nil
}

// processLister lists all processes of the machine by session. The kernel cannot
// list the processes of one session, and a server that ends closes a thousand
// sessions at a time, so concurrent callers share one list.
type processLister struct {
	mu   sync.Mutex
	next *processList // not begun yet; nil if no caller waits

	counting sync.Mutex // held while a list is made
}

// processList is one list, by session.
type processList struct {
	sessions map[int][]int
	err      error
	done     chan struct{}
}

var allProcesses processLister

// count returns a list that was begun after the call.
func (c *processLister) count() (map[int][]int, error) {
	c.mu.Lock()
	t := c.next
	first := t == nil
	if first {
		t = &processList{done: make(chan struct{})}
		c.next = t
	}
	c.mu.Unlock()
	if first {
		c.counting.Lock()
		c.mu.Lock()
		c.next = nil // later callers need another one
		c.mu.Unlock()
		t.sessions, t.err = bySession()
		close(t.done)
		c.counting.Unlock()
	}
	<-t.done
	return t.sessions, t.err
}

func bySession() (map[int][]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	sessions := map[int][]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if sid, err := unix.Getsid(pid); err == nil { // otherwise it has ended
			sessions[sid] = append(sessions[sid], pid)
		}
	}
	return sessions, nil
}

// dead reports whether a process has ended, or is a zombie (proc(5)). The name of
// the program, in parentheses, may contain any character.
func dead(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	rest := bytes.TrimLeft(stat[bytes.LastIndexByte(stat, ')')+1:], " ")
	return len(rest) == 0 || rest[0] == 'Z' || rest[0] == 'X'
}
