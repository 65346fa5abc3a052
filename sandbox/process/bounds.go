package process

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/limits"
	"github.com/deft-dev/deft/sandbox/internal/rlimits"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

const notBounded = "not bounded"

// tmpBytes is the size of the private directories of a sandbox with these limits.
func (p *Provider) tmpBytes(l sandbox.Limits) int64 {
	switch {
	case p.opt.TmpBytes > 0:
		return p.opt.TmpBytes
	case l.MemoryBytes > 0:
		return l.MemoryBytes / 3
	default:
		return limits.UsableMemory() / 4
	}
}

// bounds returns the limits of a sandbox for the report.
func bounds(l sandbox.Limits, tmpBytes int64, rep sandbox.Report) []sandbox.Bound {
	has := func(feature string) bool { return slices.Contains(rep.Features, feature) }
	all := []sandbox.Bound{
		{Resource: "memory", Value: notBounded},
		{Resource: "processes", Value: notBounded},
		{Resource: "processors", Value: notBounded + ": all " + strconv.Itoa(runtime.NumCPU())},
		{Resource: "private files", Value: notBounded + ": they are on the disk"},
		{Resource: "descriptors", Value: notBounded},
		{Resource: "inotify", Value: notBounded + ": shared with the user's other programs"},
		{Resource: "workspace", Value: notBounded + ": it is on the disk"},
	}
	set := func(resource, value string) {
		all[slices.IndexFunc(all, func(b sandbox.Bound) bool { return b.Resource == resource })].Value = value
	}
	if has("cgroup-memory") {
		set("memory", limits.Text(l.MemoryBytes))
	} else if has(memoryWatch) {
		set("memory", limits.Text(l.MemoryBytes)+" in processes, while Deft runs")
	} else if l.MemoryBytes > 0 {
		set("memory", notBounded+": "+reasonFor(rep, "cgroup-memory"))
	}
	switch limit := strconv.Itoa(l.PIDs) + " with their threads"; {
	case has("cgroup-pids"):
		set("processes", limit)
	case has(processLimitFeature) && rep.Level == LevelLandlock:
		set("processes", limit+", beside the user's processes at the start")
	case has(processLimitFeature):
		set("processes", limit)
	case l.PIDs > 0:
		set("processes", notBounded+": "+reasonFor(rep, "cgroup-pids"))
	}
	if has("cgroup-cpu") {
		set("processors", strconv.FormatFloat(l.CPUs, 'g', 3, 64))
	} else if l.CPUs > 0 {
		set("processors", notBounded+": "+reasonFor(rep, "cgroup-cpu"))
	}
	if rep.Level == LevelNamespaces {
		set("private files", limits.Text(tmpBytes)+", in memory")
	}
	var files unix.Rlimit
	if rep.Level != LevelNone && unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		set("descriptors", strconv.FormatUint(min(files.Max, rlimits.MaxFiles), 10)+" of a process")
	}
	if instances, watches := inotifyShareOf("max_user_instances"), inotifyShareOf("max_user_watches"); has("inotify-share") {
		set("inotify", fmt.Sprintf("%d instances, %d watches", instances, watches))
	}
	return all
}

// reasonFor returns why a feature is missing, without its effect.
func reasonFor(rep sandbox.Report, feature string) string {
	for _, m := range rep.Missing {
		if m.Feature == feature {
			_, reason, _ := strings.Cut(m.Reason, notBounded+": ")
			return cmp.Or(reason, m.Reason)
		}
	}
	return "unknown"
}

// inside.InotifyShareOf returns a sandbox's share of a limit of inotify; 0 if it is unknown.
func inotifyShareOf(limit string) int {
	raw, err := os.ReadFile("/proc/sys/fs/inotify/" + limit)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0
	}
	return max(n/inside.InotifyShare, 1)
}
