package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/locktest"
)

var (
	_ session.LockWatcher = (*postgres.Locks)(nil)
	_ session.LockLocator = (*postgres.Locks)(nil)
)

// TestHolder finds the process that works on a conversation, as long as it does.
func TestHolder(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one, other := openAs(t, url, "http://one"), openAs(t, url, "http://other")
	first, second := event.NewConversationID(), event.NewConversationID()
	want := func(asked *postgres.Store, address string, ids ...event.ConversationID) {
		t.Helper()
		if got, err := asked.Locks().Holder(t.Context(), ids...); got != address || err != nil {
			t.Errorf("%q, %v; want %q", got, err, address)
		}
	}
	want(other, "", first, second)
	release := acquire(t, one, first)
	want(other, "http://one", second, first)
	want(one, "", first)
	releaseOther := acquire(t, other, second)
	want(other, "", second, first) // it works on one of them itself
	want(one, "http://other", second)
	releaseOther()
	release()
	want(other, "", first)
	acquire(t, one, first)
	disconnect(t, url)
	want(other, "", first) // it is about to be taken over
}

func TestLocks(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(t *testing.T) func() session.Lock {
		url := postgrestest.URL(t)
		return func() session.Lock { return open(t, url).Locks() }
	})
}

// execute runs a statement as somebody else.
func execute(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	must.Succeed(t, err)
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// disconnect ends the connections that hold the locks of processes for good: they are not
// known any more when they come back, which takes no time.
func disconnect(t *testing.T, url string) {
	t.Helper()
	execute(t, url, "DELETE FROM processes")
	execute(t, url, `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = current_schema()::regnamespace::oid AND granted`)
}

// TestFencing has another process take over while the first one goes on.
func TestFencing(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one, other := open(t, url), open(t, url)
	id := newConversation(t, one)
	lost := make(chan event.ConversationID, 1)
	watch(t, one, nil, func(id event.ConversationID) { lost <- id })
	release := acquire(t, one, id)
	fill(t, one, id, 3)
	disconnect(t, url)
	if got := <-lost; got != id {
		t.Errorf("lost %s, want %s", got, id)
	}
	releaseOther := acquire(t, other, id)
	if _, err := one.Append(t.Context(), id, event.NewUserMessage("late")); !fault.Is(err, fault.Conflict) {
		t.Errorf("a process that has lost the lock appends: %v", err)
	}
	if err := one.SetMeta(t.Context(), id, eventstream.Meta{Title: "late"}); !fault.Is(err, fault.Conflict) {
		t.Errorf("a process that has lost the lock changes the title: %v", err)
	}
	if err := one.Delete(t.Context(), id); !fault.Is(err, fault.Conflict) {
		t.Errorf("a process that has lost the lock deletes the conversation: %v", err)
	}
	fill(t, other, id, 1)
	must.Report(t, other.SetMeta(t.Context(), id, eventstream.Meta{Title: "in time"}))
	releaseOther()
	if _, err := one.Append(t.Context(), id, event.NewUserMessage("late")); !fault.Is(err, fault.Conflict) {
		t.Errorf("a process that has lost the lock appends after it was released: %v", err)
	}
	release()
	acquire(t, one, id)()
	fill(t, one, id, 1)
	if n, err := one.Last(t.Context(), id); n != 5 || err != nil {
		t.Errorf("got %d events, %v, want 5", n, err)
	}
}

func acquire(t testing.TB, s *postgres.Store, id event.ConversationID) (release func()) {
	t.Helper()
	release, err := s.Locks().Acquire(t.Context(), id)
	must.Succeed(t, err)
	return release
}

// watch watches until the test ends.
func watch(t testing.TB, s *postgres.Store, orphaned, lost func(event.ConversationID)) {
	t.Helper()
	nobody := func(id event.ConversationID) { t.Errorf("called for %s", id) }
	if orphaned == nil {
		orphaned = nobody
	}
	if lost == nil {
		lost = nobody
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Locks().Watch(ctx, orphaned, lost) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !fault.Is(err, fault.Canceled) {
			t.Errorf("the watch ended with %v", err)
		}
	})
}

// TestTakeOver kills a process while two others watch: one of them takes over its
// conversations, and unlocks the one that it does not acquire.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	stores := []*postgres.Store{open(t, url), open(t, url)}
	kept, left := newConversation(t, stores[0]), newConversation(t, stores[0])
	child := startChild(t, "lock", url, string(kept), string(left))
	child.expect(t, "locked")
	type call struct {
		by *postgres.Store
		id event.ConversationID
	}
	called := make(chan call, 10)
	for i, s := range stores {
		watch(t, s, func(id event.ConversationID) {
			if _, err := stores[1-i].Locks().Acquire(t.Context(), id); !fault.Is(err, fault.Conflict) {
				t.Errorf("another process acquires what is taken over: %v", err)
			}
			if id == kept {
				acquire(t, s, id)
			}
			called <- call{s, id}
		}, nil)
	}
	if held, err := stores[0].Locks().Held(kept); !held || err != nil {
		t.Errorf("held by the other process: %v, %v", held, err)
	}
	killed := time.Now()
	child.kill(t)
	first, second := <-called, <-called
	t.Logf("taken over after %v", time.Since(killed))
	if first.by != second.by || first.id == second.id {
		t.Errorf("called %v and %v", first, second)
	}
	fill(t, first.by, kept, 1)
	waittest.Until(t, "the lock is free", func() bool {
		_, err := stores[1].Locks().Acquire(t.Context(), left)
		if err != nil && !fault.Is(err, fault.Conflict) {
			t.Fatalf("what was not acquired: %v", err)
		}
		return err == nil
	})
	if len(called) > 0 {
		t.Errorf("called again: %v", <-called)
	}
}

// TestReconnect ends the connection that holds the locks: the process gets it back and
// loses nothing.
func TestReconnect(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one, other := open(t, url), open(t, url)
	watch(t, one, nil, nil)
	watch(t, other, nil, nil)
	id := newConversation(t, one)
	acquire(t, one, id)
	for range 3 {
		execute(t, url, `SELECT pg_terminate_backend(k.pid, 10000) FROM pg_locks k WHERE k.locktype = 'advisory' AND k.classid = current_schema()::regnamespace::oid AND k.granted`)
		awaitHeld(t, other, id)
	}
	fill(t, one, id, 1)
	if _, err := other.Locks().Acquire(t.Context(), id); !fault.Is(err, fault.Conflict) {
		t.Errorf("acquired beside the process that has come back: %v", err)
	}
}

// awaitHeld waits until the process that has a conversation locked is connected.
func awaitHeld(t *testing.T, s *postgres.Store, id event.ConversationID) {
	t.Helper()
	waittest.Until(t, "the process comes back", func() bool {
		held, err := s.Locks().Held(id)
		must.Succeed(t, err)
		return held
	})
}
