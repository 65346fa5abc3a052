package filelock_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/filelock/filelocktest"
)

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
	filelocktest.AwaitBlocked(t, path)
	cancel()
	wg.Wait()
	if n := filelocktest.Blocked(t, path); n != 1 {
		t.Errorf("%d waits in the kernel, want 1", n)
	}
	unlock()
	again, err := filelock.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if n := filelocktest.Blocked(t, path); n != 0 {
		t.Errorf("%d waits in the kernel after the lock, want none", n)
	}
	again()
}
