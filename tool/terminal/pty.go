package terminal

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/tool/internal/tty"
	"github.com/deft-dev/deft/tool/terminal/ahead"
)

// ptyPair is a pseudo terminal. The master is read and written by the
// session; the slave stays open here too, so that a shell that ends does not
// end the terminal and a fresh shell can take it over.
type ptyPair struct {
	master *os.File // non-blocking: Close wakes a reader
	slave  *os.File // blocking: its flags are shared with the programs
	modes  unix.Termios
}

// openPTY makes a terminal of the given size, unless a shell has one already.
func openPTY(rows, cols uint16, ready *ahead.Shell) (*ptyPair, error) {
	p := &ptyPair{}
	if ready != nil {
		p.master, p.slave = ready.Master, ready.Slave
	} else {
		var err error
		if p.master, p.slave, err = tty.Open(rows, cols); err != nil {
			return nil, err
		}
	}
	if err := p.setUp(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *ptyPair) setUp() error {
	modes, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
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

// restore resets the line discipline and drops input that was not read.
func (p *ptyPair) restore() error {
	return p.control(func(fd int) error {
		return unix.IoctlSetTermios(fd, unix.TCSETS, &p.modes)
	})
}

// discardInput drops typed input that was not read. On the slave's side, because
// for the master "input" is the programs' output.
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
