//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockExclusive takes the lock alone if nobody else holds it (first is true),
// or else shares it.
func lockExclusive(f *os.File) (first bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return false, err
	}
	return false, lockShared(f)
}

// lockShared waits for a process that holds the lock alone, which it does
// only while it opens the store.
func lockShared(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func isNoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
