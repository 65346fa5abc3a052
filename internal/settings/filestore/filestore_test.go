package filestore_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/filestore"
)

func TestLocksKeepEveryChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, lock := filepath.Join(dir, "n"), filepath.Join(dir, "sub", ".lock")
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			unlock, err := filestore.Lock(t.Context(), lock)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			raw, err := filestore.Read(path)
			n := 0
			if raw != nil && err == nil {
				n, err = strconv.Atoi(string(raw))
			}
			if err != nil {
				t.Error(err)
			}
			if err := filestore.Write(path, []byte(strconv.Itoa(n+1))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if raw, err := filestore.Read(path); err != nil || string(raw) != "30" {
		t.Errorf("%s %v", raw, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("something is left behind: %v %v", entries, err)
	}
}

// held takes a lock as another process would.
func held(t *testing.T) (path string, release func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), ".lock")
	f, err := os.Create(path) // another open file is another holder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return path, func() { _ = f.Close() }
}

func TestAWaitForALockEnds(t *testing.T) {
	t.Parallel()
	path, release := held(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := filestore.Lock(ctx, path); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	release()
}

func TestALockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	path, release := held(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filestore.Lock(ctx, path); !fault.Is(err, fault.Canceled) {
		t.Errorf("given up: %v", err)
	}
	release()
	unlock, err := filestore.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestReadSaysWhatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if raw, err := filestore.Read(filepath.Join(dir, "none")); raw != nil || err != nil {
		t.Errorf("%q %v", raw, err)
	}
	empty := filepath.Join(dir, "empty")
	if err := filestore.Write(empty, nil); err != nil {
		t.Fatal(err)
	}
	if raw, err := filestore.Read(empty); raw == nil || err != nil {
		t.Errorf("an empty file is there: %v %v", raw, err)
	}
	if err := filestore.Write(filepath.Join(empty, "below"), nil); err == nil {
		t.Error("a file below a file")
	}
}
