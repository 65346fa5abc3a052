package store_test

import (
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/store"
)

// TestRecent: a request sees this server's changes at once, and another server's after a
// second at most.
func TestRecent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, other, ctx := d.store(t), d.store(t), t.Context()
		must.Succeed(t, s.AddSandbox(ctx, store.Sandbox{ID: "s", Owner: "alice", SessionKey: "key", Created: when(0), Used: when(0)}, 0))
		must.Succeed(t, s.SaveConversation(ctx, store.Conversation{ID: id(1), Owner: "alice", Sandbox: "s", Created: when(0)}))
		member := func(s *store.Store, owner, sandbox string) bool {
			in, err := s.IsMember(ctx, owner, sandbox, id(1))
			must.Succeed(t, err)
			return in
		}
		for range 2 { // the second one is not read
			got, err := s.SandboxOfKey(ctx, "key")
			if must.Succeed(t, err); got.ID != "s" || got.Paused {
				t.Errorf("the key is that of %+v", got)
			}
			if !member(s, "alice", "s") || member(s, "bob", "s") || member(s, "alice", "other") {
				t.Error("a member is none, or the other way round")
			}
		}
		must.Succeed(t, s.SetSandboxPaused(ctx, "alice", "s", true))
		if got, err := s.SandboxOfKey(ctx, "key"); err != nil || !got.Paused {
			t.Errorf("after a pause: %+v, %v", got, err)
		}
		must.Succeed(t, s.DeleteConversation(ctx, "alice", id(1)))
		if member(s, "alice", "s") {
			t.Error("a deleted conversation is in its sandbox")
		}
		must.Succeed(t, s.SaveConversation(ctx, store.Conversation{ID: id(1), Owner: "alice", Sandbox: "other", Created: when(0)}))
		if member(s, "alice", "s") || !member(s, "alice", "other") {
			t.Error("a conversation is where it was")
		}

		must.Succeed(t, other.DeleteConversation(ctx, "alice", id(1)))
		must.Succeed(t, other.DeleteSandbox(ctx, "alice", "s"))
		s.Age()
		if _, err := s.SandboxOfKey(ctx, "key"); !fault.Is(err, fault.Auth) || member(s, "alice", "other") {
			t.Errorf("what another server has deleted is still there: %v", err)
		}
	})
}
