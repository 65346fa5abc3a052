package actionserver

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// ignoreSignals takes all signals that another process can send, and does nothing with them,
// until it is undone. Kill, stop and libc's own signals cannot be taken: the first process of
// a PID namespace does not get them from inside. Signals that are ignored for good (SIG_IGN)
// would be ignored in commands too, which inherit that.
func ignoreSignals() (undo func()) {
	var all []os.Signal
	for s := unix.Signal(1); s < 65; s++ {
		switch s {
		case unix.SIGKILL, unix.SIGSTOP:
		case unix.SIGCHLD: // for orphans
		case unix.SIGURG, unix.SIGPROF: // the Go runtime's own, and harmless
		default:
			all = append(all, s)
		}
	}
	taken := make(chan os.Signal, 1) // never read: signals that do not fit are dropped
	signal.Notify(taken, all...)
	return func() { signal.Stop(taken) }
}
