package conversations

import (
	"cmp"
	"context"
	"errors"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
)

// place returns the sandbox of a task, and stores which it is.
func (s *Service) place(ctx context.Context, owner identity.Tenant, run *job.Run, t *store.Task, warm bool) (store.Sandbox, error) {
	if warm && t.Sandbox == "" {
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
