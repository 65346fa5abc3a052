package store_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
)

// TestRotatedKey: values sealed with a former key are sealed anew when the store is
// opened, so that the former key can go. Rows that no key opens are listed where that
// needs no secret, are refused otherwise, and are there again with their key.
func TestRotatedKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		conversation := event.NewConversationID()
		open := func(ring *keyring.Ring, use func(*store.Store)) {
			s, err := store.Open(t.Context(), d.open(t), d.engine, ring)
			must.Succeed(t, err)
			use(s)
			must.Report(t, s.Close())
		}
		open(keyring.New("first"), func(s *store.Store) {
			for range 101 { // more than are read at a time
				b := store.Sandbox{ID: event.NewConversationID().Hex(), Owner: "local", SessionKey: event.NewConversationID().Hex(), Directory: "/w", Created: now, Used: now}
				must.Succeed(t, s.AddSandbox(t.Context(), b, 0))
			}
			for id, status := range map[string]store.TaskStatus{"a": store.Ready, "b": store.Working} {
				j := startJob(store.Task{ID: id, Owner: "local", Conversation: event.NewConversationID(), Status: status, Created: now, Updated: now})
				if status == store.Ready {
					j.State = job.Done
				}
				must.Succeed(t, s.AddJobs(t.Context(), j))
			}
			c := store.Callback{ID: event.NewConversationID(), Owner: "local", Conversation: conversation, Kind: "k", Processor: json.RawMessage(`{}`), Status: store.CallbackActive, Created: now, Updated: now}
			must.Succeed(t, s.AddJobs(t.Context(), callbackJob(c)))
		})
		readable := func(s *store.Store, want bool) {
			t.Helper()
			found, _, err := s.Sandboxes(t.Context(), "local", "", 200)
			if err != nil || (len(found) == 101) != want {
				t.Errorf("sandboxes: %d, %v", len(found), err)
			}
			tasks, _, err := s.Tasks(t.Context(), store.TaskQuery{Owner: "local", Limit: 10})
			if err != nil || len(tasks) != 2 || (tasks[0].Request != nil) != want {
				t.Errorf("start tasks: %+v, %v", tasks, err)
			}
			if _, err := s.Job(t.Context(), "b"); errors.Is(err, schema.ErrSealed) == want {
				t.Errorf("a job: %v", err)
			}
			if _, err := s.Task(t.Context(), "local", "b"); errors.Is(err, schema.ErrSealed) == want {
				t.Errorf("a start task: %v", err)
			}
			calls, err := s.Callbacks(t.Context(), conversation)
			if err != nil || len(calls) != 1 || (calls[0].Processor != nil) != want {
				t.Errorf("callbacks: %+v, %v", calls, err)
			}
		}
		open(keyring.New("lost"), func(s *store.Store) { readable(s, false) })
		open(keyring.New("lost", "other"), func(s *store.Store) { readable(s, false) })
		open(keyring.New("second", "first"), func(s *store.Store) { readable(s, true) })
		open(keyring.New("first"), func(s *store.Store) { readable(s, false) })
		open(keyring.New("second"), func(s *store.Store) { readable(s, true) })
	})
}
