package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/store"
)

func TestCallbacks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		db, s, ctx := d.open(t), d.store(t), t.Context()
		callback := func(n int, owner string) store.Callback {
			return store.Callback{
				ID: id(100 + n), Owner: owner, Conversation: id(n / 2), Kind: "K", Processor: json.RawMessage(`{"kind": "K", "key": "very private"}`),
				Status: store.CallbackActive, Created: when(n), Updated: when(n),
			}
		}
		all := []store.Callback{callback(0, "alice"), callback(1, "alice"), callback(2, "bob")}
		must.Succeed(t, s.AddJobs(ctx, callbackJob(all[0]), callbackJob(all[1]), callbackJob(all[2])))
		got, err := s.Callbacks(ctx, id(0))
		must.Succeed(t, err)
		same(t, all[:2], got)
		var stored string
		must.Succeed(t, db.QueryRowContext(ctx, "SELECT args FROM app_jobs ORDER BY id LIMIT 1").Scan(&stored))
		if len(stored) == 0 || stored[0] == '{' {
			t.Errorf("the processor is stored as %s", stored)
		}

		result := func(c store.Callback, seq int, ok bool) *store.CallbackResult {
			return &store.CallbackResult{ID: fmt.Sprint("r", seq), Callback: c.ID, Conversation: c.Conversation, Event: event.ID(fmt.Sprint("e", seq)), OK: ok, Detail: "d", Created: when(seq)}
		}
		move := func(c store.Callback, to eventstream.Seq, r *store.CallbackResult) error {
			c.Seen, c.Updated = to, when(int(to))
			return s.SaveCallback(ctx, callbackJob(c), to, r)
		}
		must.Succeed(t, move(all[0], 2, nil))
		must.Succeed(t, move(all[0], 3, result(all[0], 3, true)))
		must.Succeed(t, move(all[0], 4, result(all[0], 4, false)))
		if err := move(callback(9, "alice"), 1, nil); !errors.Is(err, job.ErrLost) { // there is none
			t.Error(err)
		}
		theirs := callbackJob(all[0])
		theirs.Server = id(8888)
		if err := s.SaveCallback(ctx, theirs, 5, result(all[0], 5, true)); !errors.Is(err, job.ErrLost) { // another server calls it
			t.Error(err)
		}

		// An event has one result.
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { errs[i] = move(all[0], 5, result(all[0], 5, true)) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			}
		}
		if won != 1 {
			t.Errorf("%d have stored a result of the event", won)
		}

		var results []store.CallbackResult
		for page := ""; ; {
			some, next, err := s.CallbackResults(ctx, "alice", id(0), page, 2)
			must.Succeed(t, err)
			if results = append(results, some...); next == "" {
				break
			}
			page = next
		}
		same(t, []store.CallbackResult{*result(all[0], 5, true), *result(all[0], 4, false), *result(all[0], 3, true)}, results)
		none, _, err := s.CallbackResults(ctx, "bob", id(0), "", 10)
		if must.Succeed(t, err); len(none) > 0 {
			t.Errorf("another owner sees %v", none)
		}

		done := callbackJob(all[0])
		done.State = job.Done
		must.Succeed(t, s.SaveCallback(ctx, done, 6, nil))
		if err := move(all[0], 7, nil); !errors.Is(err, job.ErrLost) {
			t.Error(err)
		}
		active, err := s.ActiveCallbacks(ctx, "", 1)
		must.Succeed(t, err)
		same(t, all[1:2], active)
		active, err = s.ActiveCallbacks(ctx, active[0].ID, 10)
		must.Succeed(t, err)
		same(t, all[2:], active)

		must.Succeed(t, s.DeleteConversation(ctx, "bob", id(0))) // not his
		if got, err = s.Callbacks(ctx, id(0)); err != nil || len(got) != 2 {
			t.Errorf("after another owner's deletion: %v, %v", got, err)
		}
		must.Succeed(t, s.DeleteConversation(ctx, "alice", id(0)))
		var left int
		must.Succeed(t, db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM app_jobs) * 10 + (SELECT count(*) FROM app_callback_results)").Scan(&left))
		if left != 10 {
			t.Errorf("after the deletion: %d", left)
		}
		_, err = s.Job(ctx, string(all[0].ID))
		wantKind(t, err, fault.NotFound)
	})
}

// TestRequestsAreSealed: the secrets of a start request are not in the tables.
func TestRequestsAreSealed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		db, s, ctx := d.open(t), d.store(t), t.Context()
		task := store.Task{ID: "t", Owner: "alice", Conversation: id(1), Status: store.Working, Request: json.RawMessage(`{"secrets": {"A": "very private"}}`), Created: when(0), Updated: when(0)}
		must.Succeed(t, s.AddJobs(ctx, startJob(task)))
		var stored string
		must.Succeed(t, db.QueryRowContext(ctx, "SELECT args FROM app_jobs").Scan(&stored))
		if len(stored) == 0 || stored[0] == '{' {
			t.Errorf("the request is stored as %s", stored)
		}
		got, err := s.Task(ctx, "alice", "t")
		must.Succeed(t, err)
		same(t, task, got)
	})
}
