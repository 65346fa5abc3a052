package postgres_test

import (
	_ "embed"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// The tables of version 1, as it made them.
//
//go:embed testdata/schema-1.sql
var schema1 string

// TestUpgrade opens tables of version 1 that have conversations: they are then those of a new
// database, and what was in them is listed in its order.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	url, fresh := postgrestest.URL(t), postgrestest.URL(t)
	execute(t, url, "CREATE TABLE schema_version (version integer NOT NULL)")
	execute(t, url, "INSERT INTO schema_version VALUES (1)")
	c := connect(t, url)
	if _, err := c.Exec(t.Context(), schema1, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	execute(t, url, `INSERT INTO conversations (id, owner, title, status, tags, created_at, updated_at, cost, working_dir, parent_id, fork_of, events, shared, summary_at)
SELECT 'c' || i, 'ann', 'Fix', 'idle', '{}', now() - i * interval '1 day', timestamptz '2026-01-02 03:04:00+00' + i * interval '25 seconds', 0, '/w', '', '', 0, 0, 0
FROM generate_series(1, 9) i`)
	s := open(t, url)
	if err := open(t, fresh).Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(describe(t, fresh), describe(t, url)); diff != "" {
		t.Errorf("tables that were upgraded (-new +upgraded):\n%s", diff)
	}
	var got []event.ConversationID
	for q := (eventstream.ListQuery{Owner: "ann", ByUpdated: true, Limit: 2}); ; {
		page, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Infos {
			got = append(got, i.ID)
		}
		if q.PageID = page.NextID; q.PageID == "" {
			break
		}
	}
	if diff := cmp.Diff([]event.ConversationID{"c9", "c8", "c7", "c6", "c5", "c4", "c3", "c2", "c1"}, got); diff != "" {
		t.Errorf("by the last change (-want +got):\n%s", diff)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return c
}

// describe returns the columns and the indexes of a schema.
func describe(t *testing.T, url string) []string {
	rows, err := connect(t, url).Query(t.Context(), `SELECT table_name || ' ' || ordinal_position || ' ' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(generation_expression, '')
FROM information_schema.columns WHERE table_schema = current_schema()
UNION ALL SELECT replace(indexdef, current_schema() || '.', '') FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(all) < 20 {
		t.Fatal(fmt.Errorf("%d columns and indexes: %w", len(all), err))
	}
	return all
}
