package sqlite_test

import (
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/eventstreamtest"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
)

// fillTitles makes more conversations than a page looks at, within one day, none of which is
// ever read as a whole.
const fillTitles = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 10050)
INSERT INTO conversations (id, owner, title, status, tags, created_at, updated_at, cost, working_dir, parent_id, fork_of, events, shared, summary_at, checksum, summary_sum, extra_sum)
SELECT printf('00000000-0000-4000-8000-%012d', i), 'ann', 'Fix the test', 'idle', '{}', printf('2026-01-01T%02d:%02d:%02d.000000Z', i/3600, i/60%60, i%60), '2026-01-02T00:00:00.000000Z', 0, '/w', '', '', 0, 0, 0, 0, 0, 0 FROM n`

// TestShortTitles: a text that is too short for the index is looked for in a bounded number of
// conversations for each page, and is found by the next ones.
func TestShortTitles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	create := func(title string, created time.Time) event.ConversationID {
		id := event.NewConversationID()
		must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{Owner: "ann", Title: title, Created: created}))
		return id
	}
	before, after := create("of old: zq", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)), create("zQ", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db"))
	must.Succeed(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), fillTitles); err != nil {
		t.Fatal(err)
	}
	create("jk", time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	for name, c := range map[string]struct {
		q    eventstream.ListQuery
		want [][]event.ConversationID
	}{
		"newest first":         {eventstream.ListQuery{Title: "zq", Owner: "ann"}, [][]event.ConversationID{{after}, {before}}},
		"oldest first":         {eventstream.ListQuery{Title: "zq", Ascending: true}, [][]event.ConversationID{{before}, {after}}},
		"by page":              {eventstream.ListQuery{Title: "z", Limit: 1}, [][]event.ConversationID{{after}, {before}}},
		"of another owner":     {eventstream.ListQuery{Title: "zq", Owner: "bob"}, [][]event.ConversationID{nil, nil}},
		"of some":              {eventstream.ListQuery{Title: "zq", Only: []event.ConversationID{before}}, [][]event.ConversationID{{before}}},
		"of a status":          {eventstream.ListQuery{Title: "q", Status: "running"}, [][]event.ConversationID{nil, nil}},
		"a text for the index": {eventstream.ListQuery{Title: ": zq"}, [][]event.ConversationID{{before}}},
	} {
		if diff := cmp.Diff(c.want, eventstreamtest.Pages(t, s, c.q)); diff != "" {
			t.Errorf("%s: pages (-want +got):\n%s", name, diff)
		}
	}
	for name, c := range map[string]struct {
		q    eventstream.ListQuery
		want int
	}{
		"all that were looked at": {eventstream.ListQuery{Title: "t", Owner: "ann"}, eventstream.Looked - 1},
		"the newest":              {eventstream.ListQuery{Title: "jk"}, 1},
		"older ones":              {eventstream.ListQuery{Title: "zq"}, 0},
		"of another owner":        {eventstream.ListQuery{Title: "zq", Owner: "bob"}, 0},
		"of some":                 {eventstream.ListQuery{Title: "zq", Only: []event.ConversationID{before}}, 1},
		"a text for the index":    {eventstream.ListQuery{Title: ": zq"}, 1},
	} {
		if got, err := s.CountConversations(t.Context(), c.q); err != nil || got != c.want {
			t.Errorf("count of %s: %d, %v, want %d", name, got, err, c.want)
		}
	}
}

// TestShortTitlesPlan: such a page reads conversations in the order of an index, and no more.
func TestShortTitlesPlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	must.Succeed(t, s.Close())
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db"))
	must.Succeed(t, err)
	defer db.Close()
	for index, q := range map[string]eventstream.ListQuery{
		"conversations_created": {Title: "zq", Owner: "ann", Status: "idle", WithoutParent: true},
		"conversations_updated": {Title: "z", ByUpdated: true, Ascending: true},
	} {
		for _, start := range []string{"", "2026-01-01T00:00:00.000000Z_7"} {
			query, args, after, afterArgs := sqlite.PageQuery(q, start)
			if !strings.Contains(query, "LIMIT 10000)") {
				t.Errorf("the page is not bounded: %s", query)
			}
			for _, plan := range []string{explained(t, db, query, args), explained(t, db, after, afterArgs)} {
				for line := range strings.Lines(plan) {
					if strings.Contains(line, " conversations") && !strings.Contains(line, "INDEX "+index) {
						t.Errorf("%q from %q: the plan is\n%s", q.Title, start, plan)
					}
				}
			}
		}
	}
}

// explained is the plan of a query.
func explained(t *testing.T, db *sql.DB, query string, args []driver.Value) string {
	t.Helper()
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, values...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var all strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		must.Succeed(t, rows.Scan(&id, &parent, &unused, &detail))
		all.WriteString(detail + "\n")
	}
	must.Succeed(t, rows.Err())
	return all.String()
}
