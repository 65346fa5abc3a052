package limits

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

const (
	// leastMemory is a sandbox's default even if it is more than three quarters of the
	// machine's memory.
	leastMemory = 1 << 30
	// unknownMemory is assumed where the host does not say how much it has.
	unknownMemory = 4 << 30
)

// UsableMemory is how many bytes of memory this process and its children can have.
var UsableMemory = sync.OnceValue(func() int64 { return memoryIn("/proc", "/sys/fs/cgroup") })

// memoryIn is the machine's memory, or the least limit of this process's control group
// and those above it, as in a container.
func memoryIn(proc, cgroups string) int64 {
	least := int64(math.MaxInt64)
	if raw, err := os.ReadFile(filepath.Join(proc, "meminfo")); err == nil {
		for line := range strings.Lines(string(raw)) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
				least = min(least, 1024*number(f[1]))
			}
		}
	}
	if raw, err := os.ReadFile(filepath.Join(proc, "self/cgroup")); err == nil {
		for line := range strings.Lines(string(raw)) {
			f := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(f) != 3 {
				continue
			}
			switch controllers := "," + f[1] + ","; {
			case strings.Contains(controllers, ",memory,"):
				least = min(least, leastAbove(filepath.Join(cgroups, f[1]), f[2], "memory.limit_in_bytes"))
			case f[0] == "0":
				least = min(least, leastAbove(cgroups, f[2], "memory.max"))
			}
		}
	}
	if least == math.MaxInt64 {
		return unknownMemory
	}
	return least
}

// leastAbove returns the least limit in a control group and those above it, up to base.
func leastAbove(base, group, file string) int64 {
	least := int64(math.MaxInt64)
	dir := filepath.Join(base, group)
	if _, err := os.Lstat(dir); err != nil {
		dir = base // as in a container, which sees its own part only
	}
	for ; dir == base || strings.HasPrefix(dir, base+"/"); dir = filepath.Dir(dir) {
		if raw, err := os.ReadFile(filepath.Join(dir, file)); err == nil { // the first has none
			least = min(least, number(strings.TrimSpace(string(raw))))
		}
	}
	return least
}

// number reads a limit. Any other word, such as "max", is the greatest number.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}

// defaultMemory is the limit of a sandbox: three quarters of the memory, and at least
// 1 GiB, or all where there is less.
func defaultMemory(usable int64) int64 { return max(usable/4*3, min(usable, leastMemory)) }
