package executionserver

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// usage measures the resources of this process. The zero value is ready.
type usage struct {
	mu  sync.Mutex
	at  time.Time
	cpu time.Duration // used until then
}

// measure returns the resources of /server_info: the CPU since the last call, memory
// and input and output of this process, and the disk of the root directory.
func (u *usage) measure() (map[string]any, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return nil, err
	}
	cpu, now := time.Duration(used.Utime.Nano()+used.Stime.Nano()), time.Now()
	u.mu.Lock()
	percent := 0.0
	if !u.at.IsZero() {
		percent = 100 * float64(cpu-u.cpu) / float64(max(now.Sub(u.at), time.Microsecond))
	}
	u.at, u.cpu = now, cpu
	u.mu.Unlock()

	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil, err
	}
	var virtual, resident int64
	if _, err := fmt.Sscan(string(raw), &virtual, &resident); err != nil {
		return nil, fmt.Errorf("read /proc/self/statm: %w", err)
	}
	page := int64(os.Getpagesize())
	var machine syscall.Sysinfo_t
	if err := syscall.Sysinfo(&machine); err != nil {
		return nil, err
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs("/", &disk); err != nil {
		return nil, err
	}
	block := uint64(disk.Bsize)
	taken, free := (disk.Blocks-disk.Bfree)*block, disk.Bavail*block
	counts := map[string]int64{"read_bytes": 0, "write_bytes": 0}
	if raw, err := os.ReadFile("/proc/self/io"); err == nil { // hidden in some sandboxes
		for line := range strings.Lines(string(raw)) {
			name, number, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if _, wanted := counts[name]; wanted {
				if counts[name], err = strconv.ParseInt(number, 10, 64); err != nil {
					return nil, fmt.Errorf("read /proc/self/io: %w", err)
				}
			}
		}
	}
	return map[string]any{
		"cpu_percent": percent,
		"memory": map[string]any{
			"rss": resident * page, "vms": virtual * page,
			"percent": 100 * float64(resident*page) / float64(machine.Totalram*uint64(machine.Unit)),
		},
		"disk": map[string]any{
			"total": disk.Blocks * block, "used": taken, "free": free, "percent": 100 * float64(taken) / float64(max(taken+free, 1)),
		},
		"io": counts,
	}, nil
}
