package postgrestest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// TestURL makes the same table in two schemas.
func TestURL(t *testing.T) {
	t.Parallel()
	for range 2 {
		c, err := pgx.Connect(t.Context(), postgrestest.URL(t))
		must.Succeed(t, err)
		defer c.Close(t.Context())
		var schema string
		if _, err := c.Exec(t.Context(), "CREATE TABLE t (n int)"); err != nil {
			t.Error(err)
		}
		if err := c.QueryRow(t.Context(), "SELECT schemaname FROM pg_tables WHERE tablename = 't' AND schemaname = current_schema()").Scan(&schema); err != nil {
			t.Errorf("%q: %v", schema, err)
		}
	}
}
