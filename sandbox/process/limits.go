package process

import (
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/deft-dev/deft/sandbox"
)

// processLimitFeature says that a resource limit bounds the processes.
const processLimitFeature = "process-limit"

// processLimit returns the resource limit that stands in where the host gives no
// control group, and reports the resources that are then not bounded. Root is
// above such limits.
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
		// Since Linux 5.14 the limit counts the processes of the user namespace.
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
