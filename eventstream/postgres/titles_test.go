package postgres_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/eventstreamtest"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

const titleIndexes = "pg_indexes WHERE indexname = 'conversations_title' AND schemaname = current_schema()"

// TestTitleIndex: a store has the index of titles, also one that was made before there was
// one.
func TestTitleIndex(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	for _, when := range []string{"new", "of an older program"} {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		must.Succeed(t, err)
		if n := rows(t, url, titleIndexes); n != 1 {
			t.Errorf("%s: there are %d indexes of titles", when, n)
		}
		must.Succeed(t, s.Close())
		execute(t, url, "DROP INDEX conversations_title")
	}
}

// TestWithoutExtension: where the extension of the index is missing and may not be made,
// the store does all the same.
func TestWithoutExtension(t *testing.T) {
	t.Parallel()
	admin := postgrestest.URL(t)
	name := "test_" + strings.ToLower(rand.Text())
	execute(t, admin, "CREATE DATABASE "+name)
	execute(t, admin, "CREATE ROLE "+name+" LOGIN")
	t.Cleanup(func() { // the role owns everything in the database
		drop(t, admin, "DATABASE "+name+" WITH (FORCE)")
		drop(t, admin, "ROLE "+name)
	})
	u, err := url.Parse(admin)
	must.Succeed(t, err)
	u.Path = "/" + name
	open := func(t *testing.T, log *slog.Logger) eventstream.Stream {
		schema := "s" + strings.ToLower(rand.Text())
		execute(t, u.String(), "CREATE SCHEMA "+schema+" AUTHORIZATION "+name)
		theirs, q := *u, u.Query()
		q.Set("search_path", schema)
		theirs.User, theirs.RawQuery = url.User(name), q.Encode()
		s, err := postgres.Open(t.Context(), theirs.String(), postgres.Options{Log: log})
		must.Succeed(t, err)
		if n := rows(t, theirs.String(), titleIndexes); n != 0 {
			t.Errorf("there are %d indexes of titles", n)
		}
		return s
	}
	t.Run("says so", func(t *testing.T) {
		var log bytes.Buffer
		s := open(t, slog.New(slog.NewTextHandler(&log, nil)))
		must.Succeed(t, s.Close())
		if !strings.Contains(log.String(), "CREATE EXTENSION pg_trgm") {
			t.Errorf("the log does not say what to do: %s", &log)
		}
	})
	eventstreamtest.RunLists(t, func(t *testing.T) eventstream.Stream { return open(t, nil) })
}

// fillTitles makes more conversations than a page looks at.
const fillTitles = `INSERT INTO conversations (id, owner, title, status, tags, created_at, updated_at, cost, working_dir, parent_id, fork_of, events, shared, summary_at)
SELECT gen_random_uuid(), CASE WHEN i % 2 = 0 THEN 'ann' ELSE 'bob' END, 'Fix the test', 'idle', '{}', timestamptz '2026-01-01' + i * interval '1 second', timestamptz '2026-01-02' + i * interval '1 second', 0, '/w', '', '', 0, 0, 0
FROM generate_series(1, 40000) i`

// TestShortTitles: a text that is too short for the index is looked for in a bounded number of
// conversations for each page, which are read in the order of an index, and is found by the
// next ones.
func TestShortTitles(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := open(t, url)
	create := func(title string, created time.Time) event.ConversationID {
		id := event.NewConversationID()
		must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{Owner: "ann", Title: title, Created: created}))
		return id
	}
	before, after := create("of old: zq", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)), create("zQ", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	execute(t, url, fillTitles)
	execute(t, url, "ANALYZE conversations")
	for name, c := range map[string]struct {
		q    eventstream.ListQuery
		want [][]event.ConversationID
	}{
		"newest first":     {eventstream.ListQuery{Title: "zq", Owner: "ann"}, [][]event.ConversationID{{after}, nil, {before}}},
		"oldest first":     {eventstream.ListQuery{Title: "zq", Owner: "ann", Ascending: true}, [][]event.ConversationID{{before}, nil, {after}}},
		"of all owners":    {eventstream.ListQuery{Title: "z"}, [][]event.ConversationID{{after}, nil, nil, nil, {before}}},
		"of another owner": {eventstream.ListQuery{Title: "zq", Owner: "eve"}, [][]event.ConversationID{nil}},
		"of some":          {eventstream.ListQuery{Title: "zq", Only: []event.ConversationID{before}}, [][]event.ConversationID{{before}}},
		"for the index":    {eventstream.ListQuery{Title: ": zq"}, [][]event.ConversationID{{before}}},
	} {
		if diff := cmp.Diff(c.want, eventstreamtest.Pages(t, s, c.q)); diff != "" {
			t.Errorf("%s: pages (-want +got):\n%s", name, diff)
		}
	}
	for name, c := range map[string]struct {
		q    eventstream.ListQuery
		want int
	}{
		"all that were looked at": {eventstream.ListQuery{Title: "t", Owner: "bob"}, eventstream.Looked},
		"the newest":              {eventstream.ListQuery{Title: "zq", Owner: "ann"}, 1},
		"the newest of all":       {eventstream.ListQuery{Title: "zq"}, 1},
		"of another owner":        {eventstream.ListQuery{Title: "t", Owner: "eve"}, 0},
		"of some":                 {eventstream.ListQuery{Title: "zq", Only: []event.ConversationID{before}}, 1},
		"for the index":           {eventstream.ListQuery{Title: ": zq"}, 1},
	} {
		if got, err := s.CountConversations(t.Context(), c.q); err != nil || got != c.want {
			t.Errorf("count of %s: %d, %v, want %d", name, got, err, c.want)
		}
	}
	for index, q := range map[string]eventstream.ListQuery{
		"conversations_(owner_)?created": {Title: "zq", Owner: "ann", Status: "idle", WithoutParent: true},
		"conversations_updated":          {Title: "z", ByUpdated: true, Ascending: true},
	} {
		for _, start := range []string{"", "2026-01-01T05:00:00.000000Z_7"} {
			query, args, after, afterArgs := postgres.PageQuery(q, start)
			for _, plan := range []string{explained(t, url, query, args), explained(t, url, after, afterArgs)} {
				if !regexp.MustCompile("(using|on) "+index+" ").MatchString(plan) || strings.Contains(plan, "Seq Scan on conversations") {
					t.Errorf("%q from %q: the plan is\n%s", q.Title, start, plan)
				}
			}
		}
	}
}

// explained is the plan of a query.
func explained(t *testing.T, url, query string, args []any) string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	must.Succeed(t, err)
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	rows, err := c.Query(t.Context(), "EXPLAIN "+query, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
	must.Succeed(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(lines, "\n")
}

// drop removes something at the end of a test.
func drop(t *testing.T, admin, what string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := pgx.Connect(ctx, admin)
	if err == nil {
		_, err = c.Exec(ctx, "DROP "+what)
		err = errors.Join(err, c.Close(ctx))
	}
	if err != nil {
		t.Errorf("drop %s: %v", what, err)
	}
}
