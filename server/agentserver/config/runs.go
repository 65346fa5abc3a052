package config

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The assumed need of a running conversation: memory, open files and processes. A
// conversation itself takes half a megabyte; the rest is its shell and the shell's
// children.
const (
	runMemory = 2 << 20
	runFiles  = 8
	runTasks  = 4
)

// Runs returns how many conversations can run on this machine at one time: as many
// as half of its memory, its open files and its processes allow, between 16 and
// 10,000. It respects the limits of a container.
func Runs() int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		files.Cur = 1024
	}
	return runs(memory(), files.Cur, number("/sys/fs/cgroup/pids.max"))
}

// runs is Runs for a machine; 0 stands for no limit.
func runs(memory, files, tasks uint64) int {
	n := uint64(10_000)
	for _, limit := range []struct{ have, each uint64 }{{memory / 2, runMemory}, {files, runFiles}, {tasks, runTasks}} {
		if limit.have > 0 {
			n = min(n, limit.have/limit.each)
		}
	}
	return int(max(n, 16))
}

// memory returns the memory of the machine or the container in bytes; 0 if it is
// unknown.
func memory() (bytes uint64) {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		bytes = uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits on some architectures
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if limit := number(file); limit > 0 && (bytes == 0 || limit < bytes) {
			bytes = limit
		}
	}
	return bytes
}

// number reads a file of the kernel; 0 for "max" and for none.
func number(file string) uint64 {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
