package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
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
			must.Succeed(t, theirs.Delete(t.Context(), id))
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

// rowsLeft counts the events of a closed store, and the conversations whose
// events are still to be deleted.
func rowsLeft(t *testing.T, dir string) (rows, deleted int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db"))
	must.Succeed(t, err)
	defer db.Close()
	must.Succeed(t, db.QueryRow("SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM deleted)").Scan(&rows, &deleted))
	return rows, deleted
}

// settleCleanup waits for the clean-up and closes the store. Each request waits
// for at most one step of it, so a number of them outlasts it.
func settleCleanup(t *testing.T, s *sqlite.Store) {
	t.Helper()
	id := newConversation(t, s)
	for range 200 {
		must.Succeed(t, s.SetMeta(t.Context(), id, eventstream.Meta{}))
	}
	must.Succeed(t, s.Close())
}

// TestCleanup deletes conversations that share events: events stay while a
// fork shares them and are deleted afterwards, at the latest after the next
// start.
func TestCleanup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	a, b := newConversation(t, s), event.NewConversationID()
	fill(t, s, a, 1500)
	must.Succeed(t, s.Fork(t.Context(), b, a, []eventstream.Segment{{First: 1, Last: 10}}, eventstream.Meta{}))
	fill(t, s, b, 5)
	must.Succeed(t, s.Close())
	before, _ := rowsLeft(t, dir)
	s = open(t, dir)
	must.Succeed(t, s.Delete(t.Context(), a))
	settleCleanup(t, s)
	if n, _ := rowsLeft(t, dir); n < before {
		t.Fatalf("%d of %d rows are left while the fork shares some", n, before)
	}
	s = open(t, dir)
	checkIntact(t, s, b, 15)
	must.Succeed(t, s.Delete(t.Context(), b))
	settleCleanup(t, s)
	if n, deleted := rowsLeft(t, dir); n != 0 || deleted != 0 {
		t.Fatalf("%d events of %d deleted conversations are left", n, deleted)
	}
}

// TestCleanupNeighbours deletes one of two conversations that were written side by
// side: the events of the other stay unchanged, its own are deleted from the
// table.
func TestCleanupNeighbours(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	a, b := newConversation(t, s), newConversation(t, s)
	const each = 300
	for i := range each {
		var wg sync.WaitGroup
		for name, id := range map[string]event.ConversationID{"going": a, "staying": b} {
			wg.Go(func() {
				if _, err := s.Append(t.Context(), id, event.NewUserMessage(fmt.Sprint(name, i))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	must.Succeed(t, s.Delete(t.Context(), a))
	settleCleanup(t, s)
	checkIntact(t, open(t, dir), b, each)
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db"))
	must.Succeed(t, err)
	defer db.Close()
	var going, staying int
	must.Succeed(t, db.QueryRow("SELECT sum(instr(body, 'going') > 0), sum(instr(body, 'staying') > 0) FROM events").Scan(&going, &staying))
	if going != 0 || staying == 0 {
		t.Fatalf("%d deleted events are left, and %d others", going, staying)
	}
}
