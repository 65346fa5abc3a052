package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// Two stores on one directory share nothing in memory, as if they were in two
// processes: locks, caches and wake-ups go through the files.

func TestFollowOtherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, theirs := open(t, dir), open(t, dir)
	id := newConversation(t, ours)
	appendOne := func() {
		if _, err := theirs.Append(t.Context(), id, event.NewUserMessage("from there")); err != nil {
			t.Error(err)
		}
	}
	appendOne()
	n := 0
	for r, err := range ours.Follow(t.Context(), id, 1) {
		if err != nil || int(r.Seq) != n+1 {
			t.Fatal(r.Seq, err)
		}
		if n++; n == 50 {
			break
		}
		appendOne()
	}
}

func TestFollowDeletedByOtherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, theirs := open(t, dir), open(t, dir)
	id := newConversation(t, ours)
	fill(t, theirs, id, 1)
	var last error
	for _, err := range ours.Follow(t.Context(), id, 1) {
		if last = err; err == nil {
			if err := theirs.Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if last == nil {
		t.Fatal("the follower ended without an error")
	}
}

func TestWritersOfTwoProcesses(t *testing.T) {
	t.Parallel()
	const each = 150
	dir := t.TempDir()
	stores := []eventstream.Stream{open(t, dir), open(t, dir)}
	id := newConversation(t, stores[0])
	var wg sync.WaitGroup
	for _, s := range stores {
		wg.Go(func() {
			for range each {
				ev := event.NewUserMessage("x")
				seq, err := s.Append(t.Context(), id, ev)
				if err != nil {
					t.Error(err)
					return
				}
				if r, err := stores[0].Get(t.Context(), id, ev.ID); err != nil || r.Seq != seq {
					t.Errorf("event %d was stored as %d (%v)", seq, r.Seq, err)
				}
			}
		})
	}
	wg.Wait()
	checkIntact(t, stores[1], id, 2*each)
}

// rowsLeft counts what a closed store still holds.
func rowsLeft(t *testing.T, dir string) (records, dead int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT (SELECT count(*) FROM records) + (SELECT count(*) FROM ids WHERE log NOT IN (SELECT log FROM records)), (SELECT count(*) FROM dead)").Scan(&records, &dead); err != nil {
		t.Fatal(err)
	}
	return records, dead
}

// TestReap deletes conversations that share events: rows stay while anybody
// reaches them and go afterwards, at the latest after the next start.
func TestReap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	a, b := newConversation(t, s), event.NewConversationID()
	fill(t, s, a, 1500)
	if err := s.Fork(t.Context(), b, a, []eventstream.Segment{{First: 1, Last: 10}}, eventstream.Meta{}); err != nil {
		t.Fatal(err)
	}
	fill(t, s, b, 5)
	settle := func() {
		t.Helper()
		// Each request waits for at most one step of the clean-up, so a
		// number of them outlasts it.
		for range 100 {
			if err := s.SetMeta(t.Context(), newConversation(t, s), eventstream.Meta{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	settle()
	if n, _ := rowsLeft(t, dir); n != 1505 {
		t.Fatalf("%d rows are left while the fork shares some", n)
	}
	s = open(t, dir)
	checkIntact(t, s, b, 15)
	if err := s.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	settle()
	if n, dead := rowsLeft(t, dir); n != 0 || dead != 0 {
		t.Fatalf("%d rows and %d dead logs are left that nobody reaches", n, dead)
	}
}
