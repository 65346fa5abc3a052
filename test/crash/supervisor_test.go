package crash_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
)

// endTimeout is how long ending processes may take.
const endTimeout = 2 * time.Minute

// supervisor is a sandbox's action server. It is held by a descriptor, so that it
// is never confused with another process.
type supervisor struct {
	pid   int
	pidfd int
	space string // its PID namespace
}

// supervisor returns the one that the sandbox's state names, or nil if none runs.
func (b *bench) supervisor() *supervisor {
	files, err := filepath.Glob(filepath.Join(b.data, "events", "sandboxes", "*", "state.json"))
	must.Report(b.t, err)
	for _, name := range files {
		var st struct {
			PID     int    `json:"pid"`
			Started uint64 `json:"started"`
		}
		raw, err := os.ReadFile(name)
		if err != nil || json.Unmarshal(raw, &st) != nil || st.PID <= 1 {
			continue // removed or not yet there
		}
		fd, err := unix.PidfdOpen(st.PID, 0)
		if err != nil {
			continue
		}
		if startOf(st.PID) != st.Started || hasEnded(fd) {
			unix.Close(fd)
			continue
		}
		space, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", st.PID)) // it may end meanwhile
		return &supervisor{st.PID, fd, space}
	}
	return nil
}

// kill acts like a crash.
func (s *supervisor) kill() error {
	err := unix.PidfdSendSignal(s.pidfd, unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// release waits until the process has ended and closes its descriptor. Process 1
// of a namespace ends only after all others in it.
func (s *supervisor) release() error {
	defer unix.Close(s.pidfd)
	poll := []unix.PollFd{{Fd: int32(s.pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, int(endTimeout.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n == 0:
			return fmt.Errorf("the supervisor %d does not end", s.pid)
		}
		// It is our child if its controller is dead: we adopt orphans.
		_, _ = unix.Wait4(s.pid, nil, unix.WNOHANG, nil)
		return nil
	}
}

func (s *supervisor) close() { unix.Close(s.pidfd) }

func hasEnded(pidfd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

// stat returns the fields of proc(5)'s stat line from the third on.
func stat(pid int) []string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
}

func startOf(pid int) uint64 {
	f := stat(pid)
	if len(f) < 20 {
		return 0
	}
	n, err := strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// spaces are PID namespaces, each with the time in clock ticks since boot at which
// it was last seen: the kernel reuses their numbers.
type spaces map[string]uint64

func (in spaces) add(s *supervisor) {
	var now unix.Timespec
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil || s.space == "" || s.space == own || // without namespaces all processes share it
		unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return
	}
	in[s.space] = uint64(now.Nano()) / uint64(10*time.Millisecond) // USER_HZ is 100
}

// has reports whether a process that began at the given time is in one.
func (in spaces) has(space string, began uint64) bool {
	until, ok := in[space]
	return ok && began <= until
}

// descends reports whether a process is a descendant of this one. All processes
// that deft has started are, because the test adopts orphans; no other process
// may be inspected, much less killed.
func descends(pid int) bool {
	for pid > 1 && pid != os.Getpid() {
		f := stat(pid)
		if len(f) < 2 {
			return false
		}
		parent, err := strconv.Atoi(f[1])
		if err != nil {
			return false
		}
		pid = parent
	}
	return pid == os.Getpid()
}

// processes returns our running descendants that belong to the conversation: they
// name its directory, work in it, or share a namespace with a supervisor that it
// had.
func (b *bench) processes(in spaces) []int {
	entries, err := os.ReadDir("/proc")
	must.Succeed(b.t, err)
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !descends(pid) {
			continue
		}
		f := stat(pid)
		if len(f) == 0 || f[0] == "Z" || f[0] == "X" {
			continue
		}
		dir := "/proc/" + e.Name()
		line, _ := os.ReadFile(dir + "/cmdline") // a process that ends meanwhile is no orphan
		cwd, _ := os.Readlink(dir + "/cwd")
		space, _ := os.Readlink(dir + "/ns/pid")
		text := strings.ReplaceAll(string(line), "\x00", " ")
		if strings.Contains(text, b.dir) || strings.HasPrefix(cwd, b.dir) || in.has(space, startOf(pid)) {
			found = append(found, pid)
		}
	}
	return found
}

// gone waits until the conversation's processes have ended, also processes that were begun
// meanwhile.
func (b *bench) gone(in spaces) {
	b.t.Helper()
	waittest.Until(b.t, "the processes of the conversation in "+b.dir+" have ended", func() bool {
		left := b.processes(in)
		for _, pid := range left {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // ours if its parent is dead
		}
		return len(left) == 0
	})
}

// end kills processes, so that no test leaves any behind.
func (b *bench) end(pids []int) {
	for _, pid := range pids {
		if !descends(pid) {
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		_, _ = unix.Wait4(pid, nil, 0, nil)    // if it is ours by now
	}
}
