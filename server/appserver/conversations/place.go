package conversations

import (
	"cmp"
	"context"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
)

// place returns the sandbox of a task, and stores which it is.
func (s *Service) place(ctx context.Context, owner identity.Tenant, run *job.Run, t *store.Task, r storedStart) (store.Sandbox, error) {
	if r.Warm && t.Sandbox == "" {
		if err := s.o.Sandboxes.CreateClaimed(ctx, owner, t.Conversation); err != nil {
			return store.Sandbox{}, err
		}
		t.Sandbox = t.Conversation.Hex()
		if err := save(ctx, run, t); err != nil {
			return store.Sandbox{}, err
		}
	}
	if t.Sandbox != "" {
		b, err := s.o.Sandboxes.Get(ctx, owner, t.Sandbox)
		if err == nil && b.Paused {
			err = s.o.Sandboxes.Resume(ctx, owner, b.ID)
		}
		return b, errors.Join(err, s.o.Store.UseSandbox(ctx, t.Owner, t.Sandbox, now()))
	}
	if r.Directory != "" {
		b, err := s.placeLocal(ctx, owner, t, r.Directory)
		if err != nil {
			return b, err
		}
		t.Sandbox, t.Made = b.ID, true
		return b, save(ctx, run, t)
	}
	strategy, err := s.strategy(ctx, owner)
	if err != nil {
		return store.Sandbox{}, err
	}
	b, made, err := s.o.Sandboxes.Place(ctx, owner, strategy)
	if err != nil {
		return b, err
	}
	if !made {
		if err := s.o.Store.UseSandbox(ctx, t.Owner, b.ID, now()); err != nil {
			return b, err
		}
	}
	t.Sandbox, t.Made = b.ID, made
	return b, save(ctx, run, t)
}

// strategy is how conversations of an owner are placed that name no sandbox.
func (s *Service) strategy(ctx context.Context, owner identity.Tenant) (sandboxes.Strategy, error) {
	chosen, err := s.o.Settings.Strategy(ctx, owner)
	return cmp.Or(chosen, s.o.Strategy), err
}

// leaveSandbox removes the sandbox that was made for a task which has failed, unless there
// is a conversation in it: nothing leads to it, and it would count for its owner's limit.
func (s *Service) leaveSandbox(ctx context.Context, t *store.Task) {
	if !t.Made {
		return
	}
	ctx = context.WithoutCancel(ctx)
	owner := identity.Tenant(t.Owner)
	in, err := s.o.Sandboxes.Conversations(ctx, owner, t.Sandbox)
	if err == nil && len(in) > 0 {
		return
	}
	var b store.Sandbox
	if err == nil {
		b, err = s.o.Sandboxes.Get(ctx, owner, t.Sandbox)
	}
	if err == nil {
		err = s.o.Sandboxes.Discard(ctx, b)
	}
	if err != nil {
		s.o.Log.Warn("the sandbox of a conversation that was not started is left", "sandbox", t.Sandbox, "err", err)
		return
	}
	t.Sandbox, t.Made = "", false
}

// claim has a conversation that is placed in a new sandbox take one that waits, with its id.
// One with a repository takes none: a sandbox is the same only with the same directory to work
// in, and that of the repository has its name only now. ready is called when the conversation
// works.
func (s *Service) claim(r *storedStart, id event.ConversationID, by sandboxes.Strategy) (_ event.ConversationID, ready func()) {
	if s.o.Warm != nil && r.SandboxID == "" && r.Repository == "" && r.Directory == "" && (by == "" || by == sandboxes.NoGrouping) {
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
