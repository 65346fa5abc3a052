package appserver_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the drivers of the databases that are filled
	_ "modernc.org/sqlite"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// TestShortSearch: a search for two characters among more conversations than one page looks
// at says where it goes on, and finds every match.
func TestShortSearch(t *testing.T) {
	t.Parallel()
	const columns = "INSERT INTO conversations (id, owner, title, status, tags, created_at, updated_at, cost, working_dir, parent_id, fork_of, events, shared, summary_at"
	for name, c := range map[string]struct {
		database func(t *testing.T) string
		fill     string
		source   func(d deployment, database string) (driver, name string)
	}{
		"sqlite": {
			func(*testing.T) string { return "" },
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 10050) " + columns + `, checksum, summary_sum, extra_sum)
SELECT printf('00000000-0000-4000-8000-%012d', i), 'local', 'another', 'idle', '{}', '2100-01-01T00:00:00.000000Z', '2100-01-01T00:00:00.000000Z', 0, '/w', '', '', 0, 0, 0, 0, 0, 0 FROM n`,
			func(d deployment, _ string) (string, string) {
				return "sqlite", "file:" + filepath.Join(d.data, "events", "events.db") + "?_pragma=busy_timeout(10000)"
			},
		},
		"postgres": {
			func(t *testing.T) string { return postgrestest.URL(t) },
			columns + `) SELECT gen_random_uuid(), 'local', 'another', 'idle', '{}', '2100-01-01', '2100-01-01', 0, '/w', '', '', 0, 0, 0 FROM generate_series(1, 10050)`,
			func(_ deployment, database string) (string, string) { return "pgx", database },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := c.database(t)
			d := deploy(t, `{turns: []}`, options{database: database})
			made, _ := d.begin(t, map[string]any{"title": "the Zq of all"})
			db, err := sql.Open(c.source(d, database))
			if err == nil {
				_, err = db.ExecContext(t.Context(), c.fill)
			}
			must.Succeed(t, err)
			defer func() {
				if _, err := db.ExecContext(t.Context(), "DELETE FROM conversations WHERE title = 'another'"); err != nil {
					t.Error(err)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			var got []string
			for at, pages := "", 1; ; pages++ {
				var page struct {
					Items []conversation
					Next  *string `json:"next_page_id"`
				}
				d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/search?title__contains=zq&limit=20&page_id="+at, nil, &page)
				for _, one := range page.Items {
					got = append(got, fmt.Sprint(pages, " ", one.ID))
				}
				if page.Next == nil || pages > 3 {
					break
				}
				at = *page.Next
			}
			if want := "2 " + made.ID; len(got) != 1 || got[0] != want {
				t.Errorf("page and conversation: %q, want %q", got, want)
			}
		})
	}
}
