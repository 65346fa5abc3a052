package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/limits"
)

// inotifyShare is the part of the user's inotify instances and watches that one
// sandbox may use.
const inotifyShare = 4

// processLimitFeature says that a resource limit bounds the processes.
const processLimitFeature = "process-limit"

// processLimit returns what a resource limit stands in for where the host gives no
// control group, and reports what is then not bounded. Root is above such limits.
func processLimit(l sandbox.Limits, st *state) int {
	failed := func(feature string) int {
		return slices.IndexFunc(st.Report.Missing, func(m sandbox.Missing) bool { return m.Feature == feature })
	}
	if i := failed("cgroup-memory"); i >= 0 {
		st.Report.Missing[i].Reason = "the kernel does not bound the memory of commands: " + st.Report.Missing[i].Reason
	}
	i := failed("cgroup-pids")
	switch {
	case i < 0 || l.PIDs <= 0:
		return 0
	case os.Geteuid() == 0 || st.Report.Level == LevelNone:
		st.Report.Missing[i].Reason = "the number of processes is not bounded: " + st.Report.Missing[i].Reason
		return 0
	}
	st.Report.Features = append(st.Report.Features, processLimitFeature)
	if st.Report.Level == LevelNamespaces {
		// Since Linux 5.14 the limit counts what is in the user namespace.
		st.Report.Missing[i].Reason += "; a resource limit stands in for it"
		return l.PIDs
	}
	st.Report.Missing[i].Reason += "; a resource limit on all of the user's processes stands in for it"
	return l.PIDs + ownThreads()
}

// ownThreads counts the threads of this user.
func ownThreads() int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		fi, err := os.Stat("/proc/" + e.Name() + "/task")
		if err != nil {
			continue
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
			n += int(st.Nlink) - 2 // a directory for each thread
		}
	}
	return n
}

// limitResources sets the limits of this process that all it starts inherit.
func limitResources(pl *plan) error {
	if err := limits.SetOwn(); err != nil {
		return err
	}
	if pl.Processes > 0 {
		n := uint64(pl.Processes)
		var old unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NPROC, &old); err != nil {
			return err
		}
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: min(n, old.Max), Max: min(n, old.Max)}); err != nil {
			return fmt.Errorf("limit processes: %w", err)
		}
	}
	return nil
}

// limitInotify leaves the rest of the user's inotify instances and watches to
// other programs. A user namespace has limits of its own for them.
func limitInotify(o *outcome) {
	var errs error
	for from, to := range map[string]string{"max_user_instances": "max_inotify_instances", "max_user_watches": "max_inotify_watches"} {
		raw, err := os.ReadFile("/proc/sys/fs/inotify/" + from)
		var n int
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(string(raw)))
		}
		if err == nil {
			err = os.WriteFile("/proc/sys/user/"+to, []byte(strconv.Itoa(max(n/inotifyShare, 1))), 0)
		}
		errs = errors.Join(errs, err)
	}
	if errs != nil {
		o.Missing = append(o.Missing, sandbox.Missing{Feature: "inotify-share", Reason: errs.Error()})
		return
	}
	o.Features = append(o.Features, "inotify-share")
}
