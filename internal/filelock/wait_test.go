package filelock_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
)

// waiting matches a line of a blocked caller (proc_locks(5)) up to the inode.
var waiting = regexp.MustCompile(`(?m)^\d+: +-> FLOCK +ADVISORY +WRITE +-?\d+ +[0-9a-f]+:[0-9a-f]+:(\d+) `)

// blocked returns how many callers are blocked in flock(2) on a file. It skips the test where
// the system has no /proc/locks.
func blocked(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	must.Succeed(t, err)
	stat, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if (!ok || os.IsNotExist(err)) && os.Getenv("CI") != "true" {
		t.Skip("this system does not show its locks")
	}
	must.Succeed(t, err)
	if !ok {
		t.Fatal("a file has no inode here")
	}
	inode, n := strconv.FormatUint(stat.Ino, 10), 0
	for _, m := range waiting.FindAllStringSubmatch(string(locks), -1) {
		if m[1] == inode {
			n++
		}
	}
	return n
}

// awaitBlocked waits until a caller is blocked in flock(2) on a file: the
// kernel has no event for that. A caller that polls never is.
func awaitBlocked(t *testing.T, path string) {
	t.Helper()
	waittest.Until(t, "a caller is blocked in the kernel for the lock of "+path, func() bool { return blocked(t, path) > 0 })
}

// TestWaitsInTheKernel holds that a caller waits blocked in the kernel, and that
// callers that give up leave one such wait behind, which ends with the lock.
func TestWaitsInTheKernel(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	unlock := otherProcess(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := filelock.Lock(ctx, path); !fault.Is(err, fault.Canceled) {
				t.Errorf("a wait that was given up: %v", err)
			}
		})
	}
	awaitBlocked(t, path)
	cancel()
	wg.Wait()
	if n := blocked(t, path); n != 1 {
		t.Errorf("%d waits in the kernel, want 1", n)
	}
	unlock()
	again, err := filelock.Lock(t.Context(), path)
	must.Succeed(t, err)
	if n := blocked(t, path); n != 0 {
		t.Errorf("%d waits in the kernel after the lock, want none", n)
	}
	again()
}
