package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
)

// execute runs statements on the database of a store, as another client.
func execute(t *testing.T, dir, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db"))
	if err == nil {
		_, err = db.Exec(statements)
	}
	must.Succeed(t, err)
	must.Succeed(t, db.Close())
}

// titled returns the ids of the conversations whose title has a text, and how many are
// counted.
func titled(t *testing.T, s *sqlite.Store, q eventstream.ListQuery) (ids []event.ConversationID, counted int) {
	t.Helper()
	page, err := s.List(t.Context(), q)
	if err == nil {
		counted, err = s.CountConversations(t.Context(), q)
	}
	must.Succeed(t, err)
	for _, i := range page.Infos {
		ids = append(ids, i.ID)
	}
	return ids, counted
}

// TestCountsAreMended: a wrong number is found when the store is opened.
func TestCountsAreMended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	newConversation(t, s)
	must.Succeed(t, s.Close())
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
		must.Succeed(t, err)
		counted, err := s.CountConversations(t.Context(), q)
		if err != nil || counted != want || len(listed)+len(page.Infos) != min(want, q.Limit) {
			t.Errorf("%q: %d are counted, %d listed, want %d: %v", text, counted, len(listed), want, err)
		}
	}
}
