package process

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/sandbox"
)

// memoryWatch is the feature of a sandbox whose memory this process watches, since the
// host gives it no control group.
const memoryWatch = "memory-watch"

const (
	// growth is how much memory a processor can fill in a second, about, and
	// growing how many do so.
	growth  = 1 << 30
	growing = 4
	// The least and the longest time between two looks.
	leastWait, longestWait = 100 * time.Millisecond, 5 * time.Second
)

// watchLimit returns the limit that has to be watched, and reports that it is; 0 for
// none.
func watchLimit(l sandbox.Limits, st *state) int64 {
	if l.MemoryBytes <= 0 || st.Report.Level == LevelNone {
		return 0
	}
	for i, m := range st.Report.Missing {
		if m.Feature == "cgroup-memory" {
			st.Report.Missing[i].Reason += "; while Deft runs, the largest process of a sandbox that uses more is killed"
			st.Report.Features = append(st.Report.Features, memoryWatch)
			return l.MemoryBytes
		}
	}
	return 0
}

// watchMemory does the kernel's work for a control group: while the processes of the
// sandbox use more than its limit, it kills the largest. It looks again when they
// could have reached it, until left is closed.
func (in *instance) watchMemory(limit int64, left <-chan struct{}) {
	timer := time.NewTimer(leastWait)
	defer timer.Stop()
	for {
		select {
		case <-left:
			return
		case <-timer.C:
		}
		used := total(family(in.st.PID), resident)
		if used > limit {
			used = in.killLargest(limit)
		}
		rate := int64(growth * min(growing, runtime.NumCPU()))
		wait := time.Duration(float64(limit-used) / float64(rate) * float64(time.Second))
		timer.Reset(min(max(wait, leastWait), longestWait))
	}
}

// killLargest measures exactly, shared memory of processes counted once, and kills
// one process if that is more than the limit. It returns the measured use.
func (in *instance) killLargest(limit int64) int64 {
	sizes := map[int]int64{}
	used := total(family(in.st.PID), func(pid int) int64 {
		sizes[pid] = proportional(pid)
		return sizes[pid]
	})
	if used <= limit || !in.st.alive() {
		return used
	}
	largest := in.st.PID
	for pid, n := range sizes {
		if n > sizes[largest] {
			largest = pid
		}
	}
	if syscall.Kill(largest, syscall.SIGKILL) == nil { // else it has ended
		in.logKill(largest, sizes[largest], limit)
	}
	return used
}

// logKill says it in the sandbox's log; whoever waits for the process sees the signal.
func (in *instance) logKill(pid int, n, limit int64) {
	f, err := os.OpenFile(filepath.Join(in.p.dir(in.id), "log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return // the sandbox was removed
	}
	defer f.Close()
	slog.New(slog.NewJSONHandler(f, nil)).Warn("killed the largest process: the sandbox used more memory than its limit",
		"pid", pid, "bytes", n, "limit", limit)
}

func total(pids []int, size func(pid int) int64) (sum int64) {
	for _, pid := range pids {
		sum += size(pid)
	}
	return sum
}

// family returns a process and its descendants. Unlike [descendants] it looks at no
// other processes.
func family(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		lists, err := filepath.Glob("/proc/" + strconv.Itoa(all[i]) + "/task/*/children")
		if err != nil {
			continue
		}
		for _, list := range lists {
			raw, err := os.ReadFile(list)
			if err != nil {
				continue // the thread has ended
			}
			for field := range bytes.FieldsSeq(raw) {
				if n, err := strconv.Atoi(string(field)); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}

// resident is the memory of a process, with its shared memory; 0 if it has ended.
func resident(pid int) int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	f := bytes.Fields(raw)
	if err != nil || len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// proportional is the memory of a process with its part of the shared memory, or all
// of that if the process lets nobody look.
func proportional(pid int) int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return resident(pid)
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return resident(pid)
}
