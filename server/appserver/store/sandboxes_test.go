package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/store"
)

// TestMostSandboxes: of many starts in the same instant, by two servers on one database, as
// many succeed as the owner may have sandboxes.
func TestMostSandboxes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		const most, starts = 3, 16
		servers := []*store.Store{d.store(t), d.store(t)}
		box := func(owner, id string) store.Sandbox {
			return store.Sandbox{ID: id, Owner: owner, SessionKey: "key of " + id, Created: when(0), Used: when(0)}
		}
		must.Succeed(t, servers[0].AddSandbox(t.Context(), box("bob", "b"), most))
		begin, errs := make(chan struct{}), make(chan error, starts)
		var all sync.WaitGroup
		for i := range starts {
			all.Go(func() {
				<-begin
				errs <- servers[i%2].AddSandbox(t.Context(), box("alice", fmt.Sprint("a", i)), most)
			})
		}
		close(begin)
		all.Wait()
		close(errs)
		added := 0
		for err := range errs {
			if err == nil {
				added++
			} else if wantKind(t, err, fault.RateLimit); fault.HintOf(err) == "" {
				t.Error("it does not say what to do")
			}
		}
		have, _, err := servers[1].Sandboxes(t.Context(), "alice", "", starts)
		if must.Succeed(t, err); added != most || len(have) != most {
			t.Errorf("%d were added and %d are there, want %d", added, len(have), most)
		}

		// One that exists is said to exist, although there is no place for another one.
		wantKind(t, servers[0].AddSandbox(t.Context(), box("alice", have[0].ID), most), fault.Conflict)
		must.Succeed(t, servers[0].AddSandbox(t.Context(), box("alice", "without a limit"), 0))
		must.Succeed(t, servers[1].DeleteSandbox(t.Context(), "alice", "without a limit"))
		must.Succeed(t, servers[1].DeleteSandbox(t.Context(), "alice", have[0].ID))
		must.Succeed(t, servers[0].AddSandbox(t.Context(), box("alice", "again"), most))
	})
}

// TestTextsOfClients: text that no database takes is the client's mistake, not the
// server's.
func TestTextsOfClients(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		want := fault.NotFound
		if d.engine == store.PostgreSQL {
			want = fault.Invalid
		}
		if _, err := d.store(t).Sandbox(t.Context(), "alice", "a\x00b"); !fault.Is(err, want) {
			t.Errorf("an id with a NUL character: %v, want %s", err, want)
		}
	})
}
