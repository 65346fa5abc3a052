package doctor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
)

func TestDisk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		left  space
		state State
		text  string
		code  int
	}{
		{space{5 << 30, 100}, OK, "5120 MiB free", 0},
		{space{5 << 30, -1}, OK, "5120 MiB free", 0},
		{space{leastFree - 1, 100}, Failed, "15 MiB free: the disk is full", fault.ExitStorage},
		{space{5 << 30, 0}, Failed, "5120 MiB free, but the disk is full: it has no inodes left", fault.ExitStorage},
		{space{-1, -1}, Warning, "unknown", 0},
	} {
		got := checkDisk("/data", c.left)
		if got.State != c.state || !strings.Contains(got.Text, c.text) || got.Exit != c.code || (got.Next != "") != (c.code != 0) {
			t.Errorf("%+v: %+v", c.left, got)
		}
	}
}

// TestSpaceOfAMissingDirectory looks at the nearest one above it.
func TestSpaceOfAMissingDirectory(t *testing.T) {
	t.Parallel()
	if left := spaceAt(filepath.Join(t.TempDir(), "not", "there")); left.bytes <= 0 {
		t.Errorf("%+v", left)
	}
}
