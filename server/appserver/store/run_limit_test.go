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
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/job"
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
		ended := startJob(task("alice", 100, store.Ready))
		ended.State = job.Done
		must.Succeed(t, servers[0].AddJobs(t.Context(), ended))                                     // does not count
		must.Succeed(t, servers[0].AddJobs(t.Context(), startJob(task("bob", 101, store.Working)))) // nor does another owner's
		// One runs, and another one does so already although its task is at work.
		limit := running(most, id(102), id(103))
		must.Succeed(t, servers[0].AddRun(t.Context(), startJob(task("alice", 103, store.StartingConversation)), limit))
		begin, errs := make(chan struct{}), make(chan error, starts)
		var all sync.WaitGroup
		for i := range starts {
			all.Go(func() {
				<-begin
				j := startJob(task("alice", i, store.Working))
				if i%4 >= 2 {
					j.Kind, j.Key = store.ReplayKind, string(id(i))
				}
				errs <- servers[i%2].AddRun(t.Context(), j, limit)
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
		must.Succeed(t, err)
		replays := 0
		for i := range starts {
			_, err := servers[1].JobServer(t.Context(), store.ReplayKind, id(i))
			if err == nil {
				replays++
			} else if !fault.Is(err, fault.NotFound) {
				t.Error(err)
			}
		}
		if begun != most-2 || len(tasks)-1+replays != most-2 {
			t.Errorf("%d begun, %d tasks and %d replays are there, want %d", begun, len(tasks)-1, replays, most-2)
		}

		wantKind(t, servers[0].MayRun(t.Context(), "alice", limit), fault.RateLimit)
		must.Succeed(t, servers[0].MayRun(t.Context(), "alice", running(0)))
		must.Succeed(t, servers[0].AddRun(t.Context(), startJob(task("alice", 200, store.Working)), running(0)))
		must.Succeed(t, servers[0].MayRun(t.Context(), "bob", running(2)))
		wantKind(t, servers[0].MayRun(t.Context(), "bob", running(2, id(104))), fault.RateLimit)
	})
}

// TestStartingIsIndexed: the queries of each start do not read the tasks that have ended.
func TestStartingIsIndexed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, db := d.store(t), d.open(t)
		for i := range 300 {
			j := startJob(store.Task{ID: fmt.Sprint("t", i), Owner: "alice", Conversation: id(i), Status: store.Ready, Created: when(i), Updated: when(i)})
			j.State = job.Done
			must.Succeed(t, s.AddJobs(t.Context(), j))
		}
		explain := "EXPLAIN QUERY PLAN "
		if d.engine == store.PostgreSQL {
			explain = "EXPLAIN "
			_, err := db.ExecContext(t.Context(), "ANALYZE app_jobs")
			must.Succeed(t, err)
		}
		plan := lines(t, db, explain+strings.ReplaceAll(store.Starting, "?", "'alice'"))
		// Both indexes have only jobs at work; PostgreSQL takes either when there are few.
		if !strings.Contains(plan, "app_jobs_at_work") && !strings.Contains(plan, "app_jobs_server") || strings.Contains(plan, "SCAN app_jobs") || strings.Contains(plan, "Seq Scan on app_jobs") {
			t.Errorf("the plan is\n%s", plan)
		}
	})
}

// lines returns the last column of a query's rows.
func lines(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	must.Succeed(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	must.Succeed(t, err)
	var out strings.Builder
	for rows.Next() {
		to := make([]any, len(names))
		for i := range to {
			to[i] = new(any)
		}
		must.Succeed(t, rows.Scan(to...))
		fmt.Fprintln(&out, *to[len(to)-1].(*any))
	}
	must.Succeed(t, rows.Err())
	return out.String()
}
