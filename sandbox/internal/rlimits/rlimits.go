// Package rlimits sets the resource limits that a process gives to all it starts. The
// first stage of a sandbox calls [SetOwn]. It is safe for concurrent use; errors are the
// system's.
package rlimits

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// MaxFiles is how many descriptors a process in a sandbox may have at most.
const MaxFiles = 65536

// SetOwn forbids core dumps of this process and of all that it starts, and limits their
// descriptors to [MaxFiles]. Errors are the system's.
func SetOwn() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	files.Cur, files.Max = min(files.Cur, MaxFiles), min(files.Max, MaxFiles)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("limit descriptors: %w", err)
	}
	return nil
}
