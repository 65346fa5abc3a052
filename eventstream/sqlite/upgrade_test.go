package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
)

// execute runs statements on the database of a store, as another client.
func execute(t *testing.T, dir, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db"))
	if err == nil {
		_, err = db.Exec(statements)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// oldStore makes a store of version 6 from its fixture.
func oldStore(t *testing.T) (dir string) {
	t.Helper()
	dump, err := os.ReadFile("testdata/version_6.sql")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	execute(t, dir, "PRAGMA journal_mode = WAL;"+string(dump))
	return dir
}

// layout returns the tables and indexes of a store's database.
func layout(t *testing.T, dir string) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT coalesce(sql, name) FROM sqlite_schema UNION ALL SELECT 'version ' || user_version FROM pragma_user_version")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// titled returns the ids of the conversations whose title has a text, and how many are
// counted.
func titled(t *testing.T, s *sqlite.Store, q eventstream.ListQuery) (ids []event.ConversationID, counted int) {
	t.Helper()
	page, err := s.List(t.Context(), q)
	if err == nil {
		counted, err = s.CountConversations(t.Context(), q)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range page.Infos {
		ids = append(ids, i.ID)
	}
	return ids, counted
}

// TestUpgrade: a store of version 6 becomes like a new one, with all that was in it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dir, fresh := oldStore(t), t.TempDir()
	s := open(t, dir)
	if err := open(t, fresh).Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(layout(t, fresh), layout(t, dir)); diff != "" {
		t.Errorf("the upgraded database is not like a new one (-new +upgraded):\n%s", diff)
	}
	id := func(n int) event.ConversationID {
		return event.ConversationID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
	}
	for _, c := range []struct {
		q    eventstream.ListQuery
		want []event.ConversationID
	}{
		{eventstream.ListQuery{}, []event.ConversationID{id(6), id(4), id(3), id(2), id(1)}},
		{eventstream.ListQuery{Owner: "ann"}, []event.ConversationID{id(6), id(2), id(1)}},
		{eventstream.ListQuery{WithoutParent: true, Owner: "bob"}, []event.ConversationID{id(3)}},
		{eventstream.ListQuery{Status: "running"}, []event.ConversationID{id(6), id(1)}},
		{eventstream.ListQuery{Status: "idle"}, []event.ConversationID{id(4), id(3), id(2)}},
		{eventstream.ListQuery{Title: "FIX"}, []event.ConversationID{id(3), id(1)}},
		{eventstream.ListQuery{Title: "größe"}, []event.ConversationID{id(2)}},
		{eventstream.ListQuery{Title: "deleted"}, nil},
	} {
		got, n := titled(t, s, c.q)
		if diff := cmp.Diff(c.want, got); diff != "" || n != len(c.want) {
			t.Errorf("%+v: %d are counted (-want +got):\n%s", c.q, n, diff)
		}
	}
	n := 0
	for rec, err := range s.Read(t.Context(), id(1), 1) {
		if n++; err != nil || int(rec.Seq) != n {
			t.Fatalf("event %d: %v", rec.Seq, err)
		}
	}
	if n != 2 {
		t.Errorf("%d events are left", n)
	}
	if err := s.Delete(t.Context(), id(1)); err != nil {
		t.Error(err)
	}
	if got, n := titled(t, s, eventstream.ListQuery{Title: "fix"}); n != 1 || len(got) != 1 {
		t.Errorf("after a deletion %v are found and %d counted", got, n)
	}
}

// TestUpgradeTogether: of programs that start together one changes the tables, and the others
// wait for it.
func TestUpgradeTogether(t *testing.T) {
	t.Parallel()
	dir := oldStore(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s, err := sqlite.Open(context.WithoutCancel(t.Context()), dir, sqlite.Options{})
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, n := titled(t, open(t, dir), eventstream.ListQuery{}); n != 5 {
		t.Errorf("%d are counted", n)
	}
}

// TestUpgradeRefused: tables are not changed under a program of the older version.
func TestUpgradeRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir) // stands for an older program: it holds the lock of one that has the store open
	execute(t, dir, "PRAGMA user_version = 6")
	_, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if !fault.Is(err, fault.Conflict) || fault.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	execute(t, dir, "PRAGMA user_version = 7")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCountsAreMended: a wrong number is found when the store is opened.
func TestCountsAreMended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	newConversation(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, dir, "UPDATE conversation_counts SET conversations = 5")
	if _, n := titled(t, open(t, dir), eventstream.ListQuery{}); n != 1 {
		t.Errorf("%d are counted", n)
	}
}

// TestFrequentTitles: a text that is in very many titles is found in the right order too.
func TestFrequentTitles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	const n = 2100
	execute(t, dir, fmt.Sprintf(`WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < %d)
INSERT INTO conversations SELECT n, 'c' || n, 'ann', iif(n %% 100 = 0, 'the rare one ', 'the same ') || n, '', '{}', printf('2026-01-01T00:00:00.%%06dZ', n), '', 0, '', '', '', 0, 0, 0, 0, 0, 0 FROM i`, n))
	// The rows have no checksum, so they are counted, and listed as damaged.
	for text, want := range map[string]int{"the ": n, "rare": n / 100, "the same": n - n/100} {
		q := eventstream.ListQuery{Title: text, Limit: 30}
		var listed []event.ConversationID
		q.Damaged = func(id event.ConversationID, _ error) { listed = append(listed, id) }
		page, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		counted, err := s.CountConversations(t.Context(), q)
		if err != nil || counted != want || len(listed)+len(page.Infos) != min(want, q.Limit) {
			t.Errorf("%q: %d are counted, %d listed, want %d: %v", text, counted, len(listed), want, err)
		}
	}
}
