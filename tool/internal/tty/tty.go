// Package tty opens pseudo terminals and ends the sessions of processes on them,
// for the tools that run programs on a terminal. Everything is safe for concurrent
// use.
package tty

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Open makes a pseudo terminal of the given size. The master is non-blocking, so
// that Close wakes a reader; the slave blocks, because its flags are shared with the
// programs. It does not go through a path for the slave (TIOCGPTPEER), because a
// sandbox may see another /dev/pts.
func Open(rows, cols uint16) (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	peer, err := setUp(fd, rows, cols)
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, os.NewFile(uintptr(peer), "pts"), nil
}

func setUp(master int, rows, cols uint16) (slave int, err error) {
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, fmt.Errorf("unlock pty: %w", err)
	}
	size := unix.Winsize{Row: rows, Col: cols}
	if err := unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &size); err != nil {
		return -1, fmt.Errorf("set size of pty: %w", err)
	}
	return openPeer(master)
}

func openPeer(master int) (int, error) {
	flags := unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(flags))
	if errno == 0 {
		return int(fd), nil
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return -1, fmt.Errorf("number of pty: %w", err)
	}
	slave, err := unix.Open("/dev/pts/"+strconv.Itoa(n), flags, 0)
	if err != nil {
		return -1, fmt.Errorf("open slave of pty: %w", err)
	}
	return slave, nil
}
