package conversations

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
)

// claim has a conversation that is placed in a new sandbox take one that waits, with its id.
// One with a repository takes none: a sandbox is the same only with the same directory to work
// in, and that of the repository has its name only now. ready is called when the conversation
// works.
func (s *Service) claim(r *storedStart, id event.ConversationID, by sandboxes.Strategy) (_ event.ConversationID, ready func()) {
	if s.o.Warm != nil && r.SandboxID == "" && r.Repository == "" && (by == "" || by == sandboxes.NoGrouping) {
		if warm, ready, ok := s.o.Warm.Claim(); ok {
			r.Warm, r.ConversationID = true, warm.Hex()
			return warm, ready
		}
	}
	return id, func() {}
}

// unclaim removes the sandbox that a task has claimed, if that has no owner yet.
func (s *Service) unclaim(ctx context.Context, t store.Task) {
	if r, err := stored(t); err != nil || !r.Warm || s.o.Warm == nil {
		return // it has claimed none
	}
	ctx = context.WithoutCancel(ctx)
	_, err := s.o.Sandboxes.Get(ctx, identity.Tenant(t.Owner), t.Conversation.Hex())
	if fault.Is(err, fault.NotFound) {
		err = s.o.Warm.Discard(ctx, t.Conversation)
	}
	if err != nil {
		s.o.Log.Warn("the sandbox of a conversation that was not started is left", "sandbox", t.Conversation, "err", err)
	}
}
