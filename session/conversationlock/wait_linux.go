package conversationlock

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// closing waits for descriptors of a file to be closed, which is when the locks
// of an ended process go.
type closing struct{ f *os.File }

// watchClosing watches a file until a time.
func watchClosing(path string, until time.Time) (*closing, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	c := &closing{os.NewFile(uintptr(fd), "inotify")}
	if _, err = unix.InotifyAddWatch(fd, path, unix.IN_CLOSE_WRITE); err == nil {
		err = c.f.SetReadDeadline(until)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// wait returns when a descriptor has been closed; false when the time is over.
func (c *closing) wait() bool {
	var buf [4096]byte
	_, err := c.f.Read(buf[:])
	return err == nil
}

// stop ends a wait.
func (c *closing) stop() { _ = c.f.SetReadDeadline(time.Now()) } // it may be closed

func (c *closing) close() { _ = c.f.Close() } // nothing was written
