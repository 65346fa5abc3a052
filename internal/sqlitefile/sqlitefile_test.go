package sqlitefile_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/sqlitefile"
)

// TestTogether: whoever opens a new database beside others gets it, and nobody is told that
// it is busy.
func TestTogether(t *testing.T) {
	t.Parallel()
	for range 10 {
		path := filepath.Join(t.TempDir(), "a #?%.db")
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range 8 {
			all.Go(func() {
				<-begin
				source, err := sqlitefile.Source(path, sqlitefile.Normal)
				if err != nil {
					t.Error(err)
					return
				}
				db, err := sql.Open("sqlite", source)
				must.Report(t, err)
				defer func() { must.Report(t, db.Close()) }()
				_, err = db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS t (n INTEGER)")
				must.Report(t, err)
				var mode string
				must.Report(t, db.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode))
				if mode != "wal" {
					t.Errorf("the journal is of mode %q", mode)
				}
			})
		}
		close(begin)
		all.Wait()
		entries, err := os.ReadDir(filepath.Dir(path))
		must.Succeed(t, err)
		for _, e := range entries {
			switch strings.TrimPrefix(e.Name(), filepath.Base(path)) {
			case "", "-wal", "-shm": // which stay where the last two connections are closed at once
			default:
				t.Errorf("there is more than the database: %v", entries)
			}
		}
		info, err := os.Stat(path)
		must.Succeed(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
}

// TestFails: a directory that is not there is an error.
func TestFails(t *testing.T) {
	t.Parallel()
	if _, err := sqlitefile.Source(filepath.Join(t.TempDir(), "none", "a.db"), sqlitefile.Full); err == nil {
		t.Error("made in no directory")
	}
}
