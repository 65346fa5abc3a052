package actionserver

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// The descriptors that a sandbox gives the server, see package sandbox.
const (
	listenerFD = 3
	journalFD  = 4
)

// Inherited returns the listening socket and the journal that the sandbox's
// provider passed as descriptors 3 and 4. Commands that the tools start do not
// get them. The error is of kind fault.Invalid if they are missing.
func Inherited() (net.Listener, *os.File, error) {
	const hint = "this command is started by a sandbox, not by a person"
	for _, fd := range []int{listenerFD, journalFD} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return nil, nil, fault.New(fault.Invalid, fmt.Sprintf("file descriptor %d was not passed", fd)).Hint(hint).Because(err)
		}
	}
	socket := os.NewFile(listenerFD, "listener")
	l, err := net.FileListener(socket)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "file descriptor 3 is not a listening socket").Hint(hint).Because(err)
	}
	if err := socket.Close(); err != nil { // l has a copy
		return nil, nil, fmt.Errorf("take the listening socket over: %w", err)
	}
	return l, os.NewFile(journalFD, "journal"), nil
}
