package sqlite_test

import (
	"os"
	"testing"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/eventstreamtest"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("DEFT_SQLITE_CHILD"); mode != "" {
		os.Exit(child(mode, os.Getenv("DEFT_SQLITE_DIR")))
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	must.Succeed(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	eventstreamtest.Run(t, func(t *testing.T) eventstream.Stream { return open(t, t.TempDir()) })
}
