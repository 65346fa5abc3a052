package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestUpgrade: the steps of a later version are applied once and in order, and not under a
// program of the older version.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err == nil {
		err = s.Close()
	}
	must.Succeed(t, err)
	c, err := dial(filepath.Join(dir, "events.db"))
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, c.close()) })
	steps := []string{"CREATE TABLE later (n)", "INSERT INTO later VALUES (1)"}
	if err := upgrade(c, false, steps); !fault.Is(err, fault.Conflict) || fault.HintOf(err) == "" {
		t.Errorf("under an older program: %v", err)
	}
	for range 2 {
		must.Succeed(t, upgrade(c, true, steps))
	}
	if n, _, err := c.number("SELECT count(*) FROM later"); n != 1 || err != nil {
		t.Errorf("the second step was applied %d times, %v", n, err)
	}
	if err := checkContent(c, true); !fault.Is(err, fault.Unsupported) {
		t.Errorf("an older program opens it: %v", err)
	}
}
