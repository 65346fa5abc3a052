// Package filelocktest shows tests which callers the kernel keeps waiting for
// the lock of a file. It is safe for concurrent use. It needs Linux's
// /proc/locks and skips the test elsewhere.
package filelocktest

import (
	"os"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/waittest"
)

// waiting matches a line of a blocked caller (proc_locks(5)) up to the inode.
var waiting = regexp.MustCompile(`(?m)^\d+: +-> FLOCK +ADVISORY +WRITE +-?\d+ +[0-9a-f]+:[0-9a-f]+:(\d+) `)

// Blocked returns how many callers are blocked in flock(2) on a file.
func Blocked(t testing.TB, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if !ok || os.IsNotExist(err) {
		t.Skip("this system does not show its locks")
	}
	if err != nil {
		t.Fatal(err)
	}
	inode, n := strconv.FormatUint(stat.Ino, 10), 0
	for _, m := range waiting.FindAllStringSubmatch(string(locks), -1) {
		if m[1] == inode {
			n++
		}
	}
	return n
}

// AwaitBlocked waits until a caller is blocked in flock(2) on a file: the
// kernel has no event for that. A caller that polls never is.
func AwaitBlocked(t *testing.T, path string) {
	t.Helper()
	waittest.Until(t, "a caller is blocked in the kernel for the lock of "+path, func() bool { return Blocked(t, path) > 0 })
}
