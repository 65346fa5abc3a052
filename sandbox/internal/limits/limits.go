// Package limits says how much of this machine a sandbox gets where its Spec leaves that
// open, and sets the limits that a process gives to all it starts.
//
// Providers on this machine call [WithDefaults] on what bounds a sandbox as a whole, and
// the first stage of a sandbox calls [SetOwn]. All functions are safe for concurrent
// use. Where the host does not say what it has, a small machine is assumed.
package limits

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
)

const (
	// leastPIDs and pidsPerProcessor are enough for large builds, whose threads count
	// too: compilers run side by side, each with threads for every processor.
	leastPIDs        = 1024
	pidsPerProcessor = 64
	// MaxFiles is how many descriptors a process in a sandbox may have at most.
	MaxFiles = 65536
)

// WithDefaults fills in limits that a Spec leaves open: three quarters of the memory, and
// as many processes as large builds need. Processors are not limited.
func WithDefaults(l sandbox.Limits) sandbox.Limits {
	if l.MemoryBytes == 0 {
		l.MemoryBytes = defaultMemory(UsableMemory())
	}
	if l.PIDs == 0 {
		l.PIDs = max(leastPIDs, pidsPerProcessor*runtime.NumCPU())
	}
	return l
}

// SetOwn forbids core dumps of this process and of all that it starts, and limits their
// descriptors to [MaxFiles]. Errors are the system's.
func SetOwn() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	files.Cur, files.Max = min(files.Cur, MaxFiles), min(files.Max, MaxFiles)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("limit descriptors: %w", err)
	}
	return nil
}
