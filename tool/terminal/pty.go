package terminal

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ptyPair is a pseudo terminal. The master is read and written by the
// session; the slave stays open here too, so that a shell that ends does not
// end the terminal and a fresh shell can take it over.
type ptyPair struct {
	master *os.File // non-blocking: Close wakes a reader
	slave  *os.File // blocking: its flags are shared with the programs
	modes  unix.Termios
}

// openPTY makes a terminal of the given size. It does not go through a path
// for the slave (TIOCGPTPEER), because a sandbox may see another /dev/pts.
func openPTY(rows, cols uint16) (*ptyPair, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	p := &ptyPair{master: os.NewFile(uintptr(fd), "ptmx")}
	if err := p.setUp(fd, rows, cols); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *ptyPair) setUp(fd int, rows, cols uint16) error {
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("unlock pty: %w", err)
	}
	slave, err := openPeer(fd)
	if err != nil {
		return err
	}
	p.slave = os.NewFile(uintptr(slave), "pts")
	size := unix.Winsize{Row: rows, Col: cols}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size); err != nil {
		return fmt.Errorf("set size of pty: %w", err)
	}
	modes, err := unix.IoctlGetTermios(slave, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("read modes of pty: %w", err)
	}
	// Without IXON a stray C-s cannot stop the output for good; without
	// TABS expansion the text keeps its tabs.
	modes.Iflag &^= unix.IXON | unix.IXOFF
	modes.Iflag |= unix.IUTF8
	modes.Oflag &^= unix.TABDLY
	p.modes = *modes
	return p.restore()
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

// restore resets the line discipline and drops input that was not read.
func (p *ptyPair) restore() error {
	return p.control(func(fd int) error {
		return unix.IoctlSetTermios(fd, unix.TCSETS, &p.modes)
	})
}

// discardInput drops what was typed and not read. On the slave's side,
// because for the master "input" is the programs' output.
func (p *ptyPair) discardInput() error {
	raw, err := p.slave.SyscallConn()
	if err != nil {
		return err
	}
	var ioctl error
	err = raw.Control(func(fd uintptr) {
		ioctl = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH)
	})
	if err != nil {
		return err
	}
	return ioctl
}

// foreground returns the process group that owns the terminal, 0 if none.
func (p *ptyPair) foreground() int {
	pgrp := 0
	err := p.control(func(fd int) (err error) {
		pgrp, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	if err != nil {
		return 0
	}
	return pgrp
}

// maxTyped is the longest line that the line discipline takes in canonical
// mode; the rest of a longer one is lost (termios(3), N_TTY_BUF_SIZE).
const maxTyped = 4095

// takes reports whether the terminal passes the input on unchanged.
func (p *ptyPair) takes(input string) bool {
	canonical := false
	err := p.control(func(fd int) error {
		modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		canonical = err == nil && modes.Lflag&unix.ICANON != 0
		return err
	})
	if err != nil || !canonical {
		return err == nil
	}
	for line := range strings.FieldsFuncSeq(input, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if len(line) >= maxTyped {
			return false
		}
	}
	return true
}

func (p *ptyPair) control(f func(fd int) error) error {
	raw, err := p.master.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

func (p *ptyPair) close() {
	// The master first: it makes writers of the slave return.
	_ = p.master.Close()
	if p.slave != nil {
		_ = p.slave.Close()
	}
}
