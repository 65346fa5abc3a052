package docker

import (
	"runtime"
	"strconv"

	"github.com/moby/moby/api/types/container"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/limits"
	"github.com/deft-dev/deft/sandbox/internal/rlimits"
)

// boundsOf returns a container's limits.
func boundsOf(h *container.HostConfig) []sandbox.Bound {
	const notBounded = "not bounded"
	memory, processes, processors := notBounded, notBounded, notBounded+": all "+strconv.Itoa(runtime.NumCPU())
	files := notBounded + ": they are on the engine's disk"
	if h.Memory > 0 {
		memory = limits.Text(h.Memory)
	}
	if h.PidsLimit != nil && *h.PidsLimit > 0 {
		processes = strconv.FormatInt(*h.PidsLimit, 10) + " with their threads"
	}
	if h.NanoCPUs > 0 {
		processors = strconv.FormatFloat(float64(h.NanoCPUs)/1e9, 'g', 3, 64)
	}
	if h.ReadonlyRootfs {
		files = "in memory, as part of it"
	}
	return []sandbox.Bound{
		{Resource: "memory", Value: memory}, {Resource: "processes", Value: processes}, {Resource: "processors", Value: processors},
		{Resource: "private files", Value: files},
		{Resource: "descriptors", Value: strconv.Itoa(rlimits.MaxFiles) + " of a process"},
		{Resource: "inotify", Value: notBounded + ": shared with the user's other programs"},
		{Resource: "workspace", Value: notBounded + ": it is on the disk"},
	}
}
