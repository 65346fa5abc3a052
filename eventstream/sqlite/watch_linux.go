package sqlite

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// watch calls a function when any process, this one too, has committed: each
// touches the lock file after a commit.
type watch struct {
	f  *os.File
	wg sync.WaitGroup
}

func startWatch(path string, touched func()) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch for other processes: %w", err)
	}
	w := &watch{f: os.NewFile(uintptr(fd), "inotify")}
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY); err != nil {
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
