package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// otherProcess locks a file as another process does: by a descriptor of its
// own, which the package does not know.
func otherProcess(t *testing.T, path string) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	must.Succeed(t, err)
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatalf("%s is locked: %v", path, err)
	}
	unlock = sync.OnceFunc(func() {
		must.Report(t, f.Close())
	})
	t.Cleanup(unlock)
	return unlock
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, path := range map[string]string{"file": filepath.Join(dir, ".lock"), "directory": dir} {
		unlock, err := filelock.Lock(t.Context(), path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f, err := os.Open(path)
		must.Succeed(t, err)
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			t.Errorf("%s: another process can lock it: %v", name, err)
		}
		unlock()
		unlock() // has no effect
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			t.Errorf("%s: it is still locked: %v", name, err)
		}
		must.Report(t, f.Close())
	}
	if info, err := os.Stat(filepath.Join(dir, ".lock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := filelock.Lock(t.Context(), filepath.Join(dir, "missing", ".lock")); !fault.Is(err, fault.Denied) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}

// TestExclusive holds that goroutines hold a lock one after the other, between
// locks of another process.
func TestExclusive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	unlock := otherProcess(t, path)
	var holders, locked atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			unlock, err := filelock.Lock(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if n := holders.Add(1); n != 1 {
				t.Errorf("%d hold the lock", n)
			}
			locked.Add(1)
			holders.Add(-1)
			unlock()
		})
	}
	if n := locked.Load(); n != 0 {
		t.Errorf("%d locked a file that another process holds", n)
	}
	unlock()
	wg.Wait()
	if n := locked.Load(); n != 50 {
		t.Errorf("%d of 50 got the lock", n)
	}
}

// TestGivenUp holds that a wait ends with its context, and that the lock can be
// taken afterwards.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	tired := errors.New("tired")
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(tired)
	late, stop := context.WithDeadline(t.Context(), time.Now())
	defer stop()
	for name, tt := range map[string]struct {
		ctx   context.Context
		kind  fault.Kind
		cause error
	}{
		"canceled": {canceled, fault.Canceled, tired},
		"deadline": {late, fault.Unavailable, context.DeadlineExceeded},
	} {
		for holder, hold := range map[string]func(path string) func(){
			"another process": func(path string) func() { return otherProcess(t, path) },
			"this process": func(path string) func() {
				unlock, err := filelock.Lock(t.Context(), path)
				must.Succeed(t, err)
				return unlock
			},
			"nobody": func(string) func() { return func() {} },
		} {
			path := filepath.Join(t.TempDir(), ".lock")
			unlock := hold(path)
			for range 3 {
				if _, err := filelock.Lock(tt.ctx, path); !fault.Is(err, tt.kind) || !errors.Is(err, tt.cause) {
					t.Errorf("%s, held by %s: %v", name, holder, err)
				}
			}
			unlock()
			again, err := filelock.Lock(t.Context(), path)
			if err != nil {
				t.Fatalf("%s, held by %s: afterwards: %v", name, holder, err)
			}
			again()
		}
	}
}
