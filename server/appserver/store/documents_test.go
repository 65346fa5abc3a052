package store_test

import (
	"database/sql"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/settings/filestore/filestoretest"
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

// Those who wait for locks leave connections to those who hold them.
func TestDocumentLocksWithFewConnections(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := database{store.PostgreSQL, func(t *testing.T) *sql.DB {
		t.Helper()
		db := opened(t, "pgx", url)
		db.SetMaxOpenConns(2)
		return db
	}}.store(t)
	t.Cleanup(func() { s.Close() })
	d := s.Documents()
	var all errgroup.Group
	for i := range 12 {
		all.Go(func() error {
			name := fmt.Sprintf("owners/%d/settings.json", i%3)
			unlock, err := d.Lock(t.Context(), name)
			if err != nil {
				return err
			}
			defer unlock()
			before, err := d.Read(name)
			if err != nil {
				return err
			}
			return d.Write(name, append(before, 'x'))
		})
	}
	must.Succeed(t, all.Wait())
	for i := range 3 {
		if got, err := d.Read(fmt.Sprintf("owners/%d/settings.json", i)); string(got) != "xxxx" || err != nil {
			t.Errorf("document %d: %q, %v; want xxxx", i, got, err)
		}
	}
}
