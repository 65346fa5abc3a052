// Package postgrestest gives tests a PostgreSQL database.
//
// # Usage
//
//	url := postgrestest.URL(t) // of an empty schema of the test's own
//
// The server is named by the environment variable DEFT_TEST_POSTGRES, a URL of a
// user who may create schemas; else it is the one that test/deps/postgres.sh (`make
// deps`) starts.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Without a server tests are skipped, or fail
// if CI=true.
package postgrestest

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/internal/must"
)

// URL makes an empty schema and returns a URL that selects it. The schema is dropped
// when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	server := address()
	schema := "test_" + strings.ToLower(rand.Text())
	if err := execute(t.Context(), server, "CREATE SCHEMA "+schema); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no PostgreSQL server: %v", err)
		}
		t.Skipf("no PostgreSQL server: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(context.Background(), server, "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Errorf("drop the schema of the test: %v", err)
		}
	})
	u, err := url.Parse(server)
	must.Succeed(t, err)
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

// address is the URL of the server.
func address() string {
	if u := os.Getenv("DEFT_TEST_POSTGRES"); u != "" {
		return u
	}
	cache := cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(os.Getenv("HOME"), ".cache"))
	return "postgres://postgres@/postgres?host=" + url.QueryEscape(filepath.Join(cache, "deft-deps", "postgres"))
}

func execute(ctx context.Context, server, sql string) error {
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql)
	if end := c.Close(ctx); err == nil {
		err = end
	}
	return err
}
