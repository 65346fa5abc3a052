// Package limits says how much of this machine a sandbox gets where its Spec leaves that
// open.
//
// Providers on this machine call [WithDefaults] on the limits of a sandbox as a whole. All functions are safe for
// concurrent use. Where the host does not tell its resources, a small machine is assumed.
package limits

import (
	"runtime"

	"github.com/deft-dev/deft/sandbox"
)

const (
	// leastPIDs and pidsPerProcessor are enough for large builds, whose threads count
	// too: compilers run side by side, each with threads for every processor.
	leastPIDs        = 1024
	pidsPerProcessor = 64
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
