package worktree_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/worktree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestGivenUp gives up waiting for a repository that stays locked: no goroutine
// may wait on.
func TestGivenUp(t *testing.T) { // not parallel: it looks at all goroutines
	repo := repository(t, filepath.Join(t.TempDir(), "ran"))
	unlock, err := filelock.Lock(t.Context(), filepath.Join(repo, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = worktree.Add(ctx, worktree.Options{Root: t.TempDir(), Dir: repo, Name: "x", Branch: "openhands/x"})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("add: %v", err)
	}
	goleak.VerifyNone(t, before)
}
