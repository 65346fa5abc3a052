package store_test

import (
	"database/sql"
	"testing"

	"github.com/deft-dev/deft/internal/appserver/store"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/internal/settings/filestore"
	"github.com/deft-dev/deft/internal/settings/filestore/filestoretest"
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	filestoretest.Run(t, func(t *testing.T) (filestore.Files, string) {
		t.Helper()
		url := postgrestest.URL(t)
		s := database{store.PostgreSQL, func(t *testing.T) *sql.DB { t.Helper(); return opened(t, "pgx", url) }}.store(t)
		t.Cleanup(func() { s.Close() })
		return s.Documents(), "owners/one"
	})
}
