package process

import (
	"os"
	"slices"
	"strings"

	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// hostSockets returns the paths of the UNIX sockets that are bound on the host, as
// far as commands could see them: connecting to one needs no right to write to the
// file system that it lies in. The network namespace separates names only that
// are no paths.
func hostSockets(pl *plan) []string {
	raw, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil // a kernel without UNIX sockets
	}
	shown := []string{pl.Workspace}
	for _, g := range pl.Granted {
		shown = append(shown, g.Path)
	}
	empty := slices.Concat(inside.PrivateDirs, pl.Covered)
	var all []string
	for line := range strings.Lines(string(raw)) {
		// Num RefCount Protocol Flags Type St Inode Path; see unix(7).
		_, path, found := strings.Cut(line, " /")
		path = "/" + strings.TrimSuffix(path, "\n")
		in := func(dir string) bool { return within(path, dir) }
		if found && (!slices.ContainsFunc(empty, in) || slices.ContainsFunc(shown, in)) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
