package sqlite

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// watch calls a function when another process has committed. Each process writes
// to the lock file after a commit if others watch it. Those that watch hold a
// lock on its byte watchByte, which the kernel releases when a process ends,
// however it does.
type watch struct {
	f  *os.File
	wg sync.WaitGroup
}

// watchByte is behind all bytes that are ever written to the lock file.
const watchByte = 1

// watchLock describes a lock of a kind on watchByte.
func watchLock(kind int16) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Start: watchByte, Len: 1}
}

// watched reports whether other processes watch the lock file. If that cannot be
// found out, they may.
func watched(lock *os.File) bool {
	l := watchLock(unix.F_WRLCK)
	err := unix.FcntlFlock(lock.Fd(), unix.F_OFD_GETLK, l)
	return err != nil || l.Type != unix.F_UNLCK
}

func startWatch(lock *os.File, touched func()) (*watch, error) {
	if err := unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLK, watchLock(unix.F_RDLCK)); err != nil {
		return nil, fmt.Errorf("watch for other processes: %w", err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch for other processes: %w", err)
	}
	w := &watch{f: os.NewFile(uintptr(fd), "inotify")}
	if _, err := unix.InotifyAddWatch(fd, lock.Name(), unix.IN_MODIFY); err != nil {
		return nil, errors.Join(fmt.Errorf("watch for other processes: %w", err), w.f.Close())
	}
	w.wg.Go(func() {
		var buf [4096]byte
		for {
			// The content does not matter: whatever it was, look.
			if _, err := w.f.Read(buf[:]); err != nil {
				return // closed
			}
			touched()
		}
	})
	return w, nil
}

func (w *watch) close() error {
	err := w.f.Close()
	w.wg.Wait()
	return err
}
