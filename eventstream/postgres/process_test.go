package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/internal/waittest"
)

// Two stores at one URL share nothing in memory, as if they were in two processes.

// TestFollowOtherProcess has two processes follow the events of each other, in many
// goroutines, while both append.
func TestFollowOtherProcess(t *testing.T) {
	t.Parallel()
	const each, followers = 60, 10
	url := postgrestest.URL(t)
	stores := []eventstream.Stream{open(t, url), open(t, url)}
	id := newConversation(t, stores[0])
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[eventstream.Seq]event.ID{}
	for _, s := range stores {
		for range followers {
			wg.Go(func() {
				n := eventstream.Seq(0)
				for r, err := range s.Follow(t.Context(), id, 1) {
					if n++; err != nil || r.Seq != n {
						t.Errorf("got event %d, error %v, want %d", r.Seq, err, n)
						return
					}
					mu.Lock()
					if seen[n] == "" {
						seen[n] = r.ID
					}
					if seen[n] != r.ID {
						t.Errorf("event %d is %s here and %s there", n, r.ID, seen[n])
					}
					mu.Unlock()
					if n == 2*each {
						return
					}
				}
			})
		}
		wg.Go(func() {
			for range each {
				fill(t, s, id, 1)
			}
		})
	}
	wg.Wait()
}

// TestFollowOneAtATime appends each event when the one before has arrived in the other
// process, so that a wake-up that is lost is noticed.
func TestFollowOneAtATime(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	ours, theirs := open(t, url), open(t, url)
	id := newConversation(t, ours)
	fill(t, theirs, id, 1)
	n := 0
	for r, err := range ours.Follow(t.Context(), id, 1) {
		if err != nil || int(r.Seq) != n+1 {
			t.Fatal(r.Seq, err)
		}
		if n++; n == 50 {
			break
		}
		fill(t, theirs, id, 1)
	}
}

func TestFollowDeletedByOtherProcess(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	ours, theirs := open(t, url), open(t, url)
	id := newConversation(t, ours)
	fill(t, theirs, id, 1)
	var last error
	for _, err := range ours.Follow(t.Context(), id, 1) {
		if last = err; err == nil {
			must.Succeed(t, theirs.Delete(t.Context(), id))
		}
	}
	if !fault.Is(last, fault.NotFound) {
		t.Fatalf("the follower ended with %v", last)
	}
}

// TestWritersOfTwoProcesses appends to the same conversations in different orders, with
// changes of status, and counts.
func TestWritersOfTwoProcesses(t *testing.T) {
	t.Parallel()
	const conversations, each = 8, 40
	url := postgrestest.URL(t)
	stores := []eventstream.Stream{open(t, url), open(t, url)}
	var ids []event.ConversationID
	for range conversations {
		ids = append(ids, newConversation(t, stores[0]))
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			s := stores[w%2]
			for i := range each {
				id := ids[(i*(w+1))%conversations]
				up, err := event.NewStateUpdate("execution_status", []string{"running", "paused"}[i%2])
				if err != nil {
					t.Error(err)
					return
				}
				ev := event.NewUserMessage("x")
				last, err := s.Append(t.Context(), id, ev, up)
				if err != nil {
					t.Error(err)
					return
				}
				if r, err := stores[0].Get(t.Context(), id, ev.ID); err != nil || r.Seq != last-1 {
					t.Errorf("event %d was stored as %d (%v)", last-1, r.Seq, err)
				}
			}
		})
	}
	wg.Wait()
	all, n := eventstream.Seq(0), 0
	for _, id := range ids {
		info, err := stores[1].Info(t.Context(), id)
		must.Succeed(t, err)
		all += info.Events
	}
	if all != 8*each*2 {
		t.Errorf("%d events are stored, want %d", all, 8*each*2)
	}
	for _, status := range []string{"running", "paused", "idle"} {
		q := eventstream.ListQuery{Status: status}
		page, err := stores[0].List(t.Context(), q)
		must.Succeed(t, err)
		counted, err := stores[1].CountConversations(t.Context(), q)
		if err != nil || counted != len(page.Infos) {
			t.Errorf("%d conversations are counted as %s, %d are listed: %v", counted, status, len(page.Infos), err)
		}
		n += counted
	}
	if n != conversations {
		t.Errorf("%d conversations are counted", n)
	}
}

// rows counts the rows of a table.
func rows(t testing.TB, url, table string) (n int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	must.Succeed(t, err)
	defer c.Close(t.Context())
	must.Succeed(t, c.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

// TestCleanup deletes conversations that share events, by two processes: events stay
// while a fork shares them.
func TestCleanup(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s, other := open(t, url), open(t, url)
	a := newConversation(t, s)
	fill(t, s, a, 1500)
	var forks []event.ConversationID
	for range 6 {
		b := event.NewConversationID()
		must.Succeed(t, s.Fork(t.Context(), b, a, []eventstream.Segment{{First: 1, Last: 10}}, eventstream.Meta{}))
		fill(t, s, b, 5)
		forks = append(forks, b)
	}
	must.Succeed(t, s.Delete(t.Context(), a))
	n := eventstream.Seq(0)
	for r, err := range s.Read(t.Context(), forks[0], 1) {
		if n++; err != nil || r.Seq != n {
			t.Fatalf("event %d: %d, %v", n, r.Seq, err)
		}
	}
	if n != 15 {
		t.Errorf("the fork has %d events", n)
	}
	var wg sync.WaitGroup
	for i, b := range forks {
		wg.Go(func() {
			by := s
			if i%2 == 0 {
				by = other
			}
			must.Report(t, by.Delete(t.Context(), b))
		})
	}
	wg.Wait()
	for _, table := range []string{"events", "segments", "documents", "deleted", "conversations"} {
		if n := rows(t, url, table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

// TestKill kills a process that appends: the acknowledged events are stored.
func TestKill(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := open(t, url)
	kills := 6
	if testing.Short() {
		kills = 2
	}
	var ids []string
	for range 4 {
		ids = append(ids, string(newConversation(t, s)))
	}
	acknowledged := map[event.ConversationID]map[eventstream.Seq]event.ID{}
	total := 0
	for k := range kills {
		p := startChild(t, "append", url, ids...)
		lines := 0
		for {
			line, err := p.out.ReadString('\n')
			if err != nil {
				break
			}
			var id, ev string
			var seq eventstream.Seq
			if n, err := fmt.Sscanf(line, "%s %d %s", &id, &seq, &ev); n != 3 || len(ev) != 36 {
				t.Fatalf("the other process said %q: %v", line, err)
			}
			m := acknowledged[event.ConversationID(id)]
			if m == nil {
				m = map[eventstream.Seq]event.ID{}
				acknowledged[event.ConversationID(id)] = m
			}
			m[seq] = event.ID(ev)
			if lines++; lines == 10+37*k {
				p.kill(t)
			}
		}
		p.wait(t)
		total += lines
	}
	if total == 0 {
		t.Fatal("no event was ever acknowledged: the test tests nothing")
	}
	checkStored(t, s, acknowledged)
}

// checkStored compares everything acknowledged with the content of a store.
func checkStored(t *testing.T, s eventstream.Stream, acknowledged map[event.ConversationID]map[eventstream.Seq]event.ID) {
	t.Helper()
	for id, ids := range acknowledged {
		n := eventstream.Seq(0)
		seen := map[event.ID]bool{}
		for r, err := range s.Read(t.Context(), id, 1) {
			must.Succeed(t, err)
			if n++; r.Seq != n || seen[r.ID] {
				t.Fatalf("event %d (%s) at position %d", r.Seq, r.ID, n)
			}
			seen[r.ID] = true
			if want, ok := ids[r.Seq]; ok && want != r.ID {
				t.Fatalf("event %d is %s, acknowledged was %s", r.Seq, r.ID, want)
			}
			delete(ids, r.Seq)
		}
		if len(ids) > 0 {
			t.Fatalf("%d acknowledged events of conversation %s are missing", len(ids), id)
		}
	}
}

// TestTermination ends the connections of a store again and again: appends and followers
// go on, and nothing is stored twice.
func TestTermination(t *testing.T) {
	t.Parallel()
	const rounds, each = 8, 25
	name := "deft-" + string(event.NewID())
	url := postgrestest.URL(t)
	s := open(t, url+"&application_name="+name)
	id := newConversation(t, s)
	acknowledged := map[eventstream.Seq]event.ID{}
	followed, appended, due := make(chan struct{}), make(chan struct{}), make(chan struct{}, rounds)
	go func() {
		defer close(followed)
		n := eventstream.Seq(0)
		for r, err := range s.Follow(t.Context(), id, 1) {
			if n++; err != nil || r.Seq != n {
				t.Errorf("got event %d, error %v, want %d", r.Seq, err, n)
				return
			}
			if n == rounds*each {
				return
			}
		}
	}()
	go func() {
		defer close(appended)
		for i := range rounds * each {
			ev := event.NewUserMessage("x")
			seq, err := s.Append(t.Context(), id, ev)
			if err != nil {
				t.Error(err)
				return
			}
			acknowledged[seq] = ev.ID
			if i%each == each/2 {
				due <- struct{}{}
			}
		}
	}()
	for range rounds {
		select {
		case <-due:
			execute(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", name)
		case <-appended:
		}
	}
	<-appended
	<-followed
	if len(acknowledged) != rounds*each {
		t.Errorf("%d events were acknowledged, want %d", len(acknowledged), rounds*each)
	}
	checkStored(t, s, map[event.ConversationID]map[eventstream.Seq]event.ID{id: acknowledged})
}

// TestWatchHoldsNoSnapshot: processes that wait for each other's end have no statement under
// way meanwhile, because vacuum and heap-only tuples keep all rows that the oldest one may
// see.
func TestWatchHoldsNoSnapshot(t *testing.T) {
	t.Parallel()
	const watching = "SELECT state FROM pg_stat_activity WHERE application_name = $1 AND query LIKE '%advisory_lock_shared(%'"
	name := "watch" + rand.Text()
	url := postgrestest.URL(t) + "&application_name=" + name
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		locks := open(t, url).Locks()
		wg.Go(func() {
			if err := locks.Watch(ctx, func(event.ConversationID) {}, func(event.ConversationID) {}); !fault.Is(err, fault.Canceled) {
				t.Error(err)
			}
		})
	}
	c, err := pgx.Connect(t.Context(), url)
	must.Succeed(t, err)
	defer c.Close(context.WithoutCancel(ctx))
	waittest.Until(t, "both watching connections are idle", func() bool {
		rows, err := c.Query(ctx, watching+" AND pid <> pg_backend_pid()", name)
		must.Succeed(t, err)
		states, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must.Succeed(t, err)
		return slices.Equal(states, []string{"idle", "idle"})
	})
}
