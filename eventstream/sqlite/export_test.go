package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
)

// MigrationSteps returns the steps of the migration of the store in dir. Who
// stops between two of them leaves what a kill there would leave. Without
// links it is as on a file system that has none.
func MigrationSteps(dir string, links bool) []func(context.Context) error {
	m := newMigration(filepath.Join(dir, dbName), slog.New(slog.DiscardHandler))
	if !links {
		m.link = func(string, string) error { return errors.ErrUnsupported }
	}
	return m.steps()
}
