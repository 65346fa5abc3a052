package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/appserver/store"
)

// running is a limit for an owner with conversations that run.
func running(most int, ids ...event.ConversationID) store.RunLimit {
	return store.RunLimit{Most: most, Running: func(context.Context) ([]event.ConversationID, error) { return ids, nil }}
}

// TestMostRuns: of many starts and replays in the same instant, by two servers on one
// database, as many begin as the owner may have at work.
func TestMostRuns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		const most, starts = 4, 24
		servers := []*store.Store{d.store(t), d.store(t)}
		task := func(owner string, n int, status store.TaskStatus) store.Task {
			return store.Task{ID: fmt.Sprint(owner, n), Owner: owner, Conversation: id(n), Status: status, Created: when(0), Updated: when(0)}
		}
		must(t, servers[0].SaveTask(t.Context(), task("alice", 100, store.Ready))) // does not count
		must(t, servers[0].SaveTask(t.Context(), task("bob", 101, store.Working))) // nor does another owner's
		// One runs, and another one does so already although its task is at work.
		limit := running(most, id(102), id(103))
		must(t, servers[0].AddTask(t.Context(), task("alice", 103, store.StartingConversation), limit))
		begin, errs := make(chan struct{}), make(chan error, starts)
		var all sync.WaitGroup
		for i := range starts {
			all.Go(func() {
				<-begin
				if s := servers[i%2]; i%4 < 2 {
					errs <- s.AddTask(t.Context(), task("alice", i, store.Working), limit)
				} else {
					errs <- s.AddReplay(t.Context(), store.Replay{Conversation: id(i), Owner: "alice", Created: when(0)}, limit)
				}
			})
		}
		close(begin)
		all.Wait()
		close(errs)
		begun := 0
		for err := range errs {
			if err == nil {
				begun++
			} else if wantKind(t, err, fault.RateLimit); fault.HintOf(err) == "" {
				t.Error("it does not say what to do")
			}
		}
		tasks, _, err := servers[1].Tasks(t.Context(), store.TaskQuery{Owner: "alice", Unfinished: true, Limit: starts})
		must(t, err)
		replays, err := servers[1].Replays(t.Context())
		if must(t, err); begun != most-2 || len(tasks)-1+len(replays) != most-2 {
			t.Errorf("%d begun, %d tasks and %d replays are there, want %d", begun, len(tasks)-1, len(replays), most-2)
		}

		wantKind(t, servers[0].MayRun(t.Context(), "alice", limit), fault.RateLimit)
		must(t, servers[0].MayRun(t.Context(), "alice", running(0)))
		must(t, servers[0].AddTask(t.Context(), task("alice", 200, store.Working), running(0)))
		must(t, servers[0].MayRun(t.Context(), "bob", running(2)))
		wantKind(t, servers[0].MayRun(t.Context(), "bob", running(2, id(104))), fault.RateLimit)
	})
}

// TestStartingIsIndexed: what is asked for at each start does not read the tasks that have
// ended.
func TestStartingIsIndexed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, db := d.store(t), d.open(t)
		for i := range 300 {
			must(t, s.SaveTask(t.Context(), store.Task{ID: fmt.Sprint("t", i), Owner: "alice", Conversation: id(i), Status: store.Ready, Created: when(i), Updated: when(i)}))
		}
		explain := "EXPLAIN QUERY PLAN "
		if d.engine == store.PostgreSQL {
			explain = "EXPLAIN "
			_, err := db.ExecContext(t.Context(), "ANALYZE app_start_tasks")
			must(t, err)
		}
		plan := lines(t, db, explain+strings.ReplaceAll(store.Starting, "?", "'alice'"))
		if !strings.Contains(plan, "app_start_tasks_unfinished") || strings.Contains(plan, "SCAN app_start_tasks") || strings.Contains(plan, "Seq Scan on app_start_tasks") {
			t.Errorf("the plan is\n%s", plan)
		}
	})
}

// lines returns the last column of what a query finds.
func lines(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	must(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	must(t, err)
	var out strings.Builder
	for rows.Next() {
		to := make([]any, len(names))
		for i := range to {
			to[i] = new(any)
		}
		must(t, rows.Scan(to...))
		fmt.Fprintln(&out, *to[len(to)-1].(*any))
	}
	must(t, rows.Err())
	return out.String()
}
