package process

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/pidfd"
)

// Status implements sandbox.Sandbox.
func (in *instance) Status(context.Context) (sandbox.Status, error) {
	st, err := in.current()
	switch {
	case fault.Is(err, fault.NotFound):
		s := in.st.status(in.id)
		s.State = sandbox.Ended
		select {
		case <-in.ended:
			s.Reason = in.reason
		default: // the watcher has not seen it yet
			s.Reason = sandbox.Reason{Cause: sandbox.CauseUnknown}
		}
		return s, nil
	case err != nil:
		return sandbox.Status{}, err
	}
	return st.status(in.id), nil
}

func (st state) status(id string) sandbox.Status {
	s := sandbox.Status{ID: id, State: sandbox.Running, Started: st.Since, Workspace: st.Key.Workspace}
	if st.Paused {
		s.State = sandbox.Paused
	}
	return s
}

// reasonOf says why a sandbox has ended, from the exit of its first process, as
// far as this process may know it.
func reasonOf(st state, exit *pidfd.Exit) sandbox.Reason {
	switch {
	case st.outOfMemory() && (exit == nil || exit.Signal != 0):
		return sandbox.Reason{Cause: sandbox.CauseOutOfMemory, Message: "it used more memory than its limit allows"}
	case exit == nil:
		return sandbox.Reason{Cause: sandbox.CauseUnknown}
	case exit.Signal != 0:
		return sandbox.Reason{Cause: sandbox.CauseKilled, Message: exit.Signal.String()}
	}
	return sandbox.Reason{Cause: sandbox.CauseExited, ExitCode: exit.Code}
}

// outOfMemory reports whether the kernel has killed a process for its group's
// limit.
func (st state) outOfMemory() bool {
	for _, dir := range st.Cgroups {
		for _, name := range []string{"memory.oom_control", "memory.events"} { // version 1, version 2
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(b)) {
				if n, ok := strings.CutPrefix(line, "oom_kill "); ok && strings.TrimSpace(n) != "0" {
					return true
				}
			}
		}
	}
	return false
}

// Stats implements sandbox.Sandbox: the sums over its processes. Memory that they
// share counts for each, unless there is a control group.
func (in *instance) Stats(context.Context) (sandbox.Stats, error) {
	st, err := in.current()
	if err != nil {
		return sandbox.Stats{}, err
	}
	var s sandbox.Stats
	for _, pid := range append([]int{st.PID}, descendants(st.PID)...) {
		dir := "/proc/" + strconv.Itoa(pid)
		stat, err := os.ReadFile(dir + "/stat")
		if gone(err) {
			continue
		}
		if err != nil {
			return sandbox.Stats{}, err
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(f) < 22 {
			return sandbox.Stats{}, errors.New(dir + "/stat is short")
		}
		s.Processes++
		for _, ticks := range f[11:15] { // utime, stime, and the times of children that were waited for
			n, err := strconv.ParseInt(ticks, 10, 64)
			if err != nil {
				return sandbox.Stats{}, err
			}
			s.CPU += time.Duration(n) * (time.Second / 100) // USER_HZ is 100 everywhere
		}
		pages, err := strconv.ParseInt(f[21], 10, 64)
		if err != nil {
			return sandbox.Stats{}, err
		}
		s.MemoryBytes += pages * int64(os.Getpagesize())
	}
	if s.Processes == 0 {
		return s, in.gone()
	}
	for _, dir := range st.Cgroups {
		for _, name := range []string{"memory.usage_in_bytes", "memory.current"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
					s.MemoryBytes = n
				}
			}
		}
	}
	return s, nil
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }
