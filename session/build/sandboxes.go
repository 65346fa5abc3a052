package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

// SandboxStatus says how the sandbox of a conversation is. NotFound if none runs.
func (b *Builder) SandboxStatus(ctx context.Context, p session.Placement, id event.ConversationID) (sandbox.Status, error) {
	s, err := b.Sandbox(ctx, p, id)
	if err != nil {
		return sandbox.Status{}, err
	}
	return s.Status(ctx)
}

// SandboxStates says how the sandboxes of conversations are that run or are paused.
func (b *Builder) SandboxStates(ctx context.Context, p session.Placement) (map[event.ConversationID]sandbox.Status, error) {
	p = b.placement(p)
	provider, err := b.Sandboxes(p.SandboxClass, p.Isolation)
	if err != nil {
		return nil, err
	}
	list, err := provider.List(ctx)
	if err != nil {
		return nil, err
	}
	all := map[event.ConversationID]sandbox.Status{}
	for _, s := range list {
		if id, ok := event.ParseConversationID(s.ID); ok {
			all[id] = s
		}
	}
	return all, nil
}

// Vanished returns the conversations, of those with the ids, whose sandboxes are gone with
// the workspaces inside them, and when these were started, see [sandbox.Vanished].
func (b *Builder) Vanished(ctx context.Context, p session.Placement, ids []event.ConversationID) (map[event.ConversationID]time.Time, error) {
	p = b.placement(p)
	if p.RuntimeClass == LocalRuntime || b.class(p).New == nil {
		return nil, nil
	}
	provider, err := b.Sandboxes(p.SandboxClass, p.Isolation)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.Hex()
	}
	found, err := sandbox.Vanished(ctx, provider, names)
	all := map[event.ConversationID]time.Time{}
	for _, id := range ids {
		if at, ok := found[id.Hex()]; ok {
			all[id] = at
		}
	}
	return all, err
}

// StopSandbox ends the sandbox of a conversation, if one runs. Its journal stays.
func (b *Builder) StopSandbox(ctx context.Context, p session.Placement, id event.ConversationID) error {
	s, err := b.Sandbox(ctx, p, id)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Stop(ctx)
}

// Sandbox returns the sandbox of a conversation that runs or is paused. NotFound if
// none does, Unsupported if the conversation works without one.
func (b *Builder) Sandbox(ctx context.Context, p session.Placement, id event.ConversationID) (sandbox.Sandbox, error) {
	p = b.placement(p)
	if p.RuntimeClass == LocalRuntime {
		return nil, fault.New(fault.Unsupported, "this conversation works without a sandbox")
	}
	provider, err := b.Sandboxes(p.SandboxClass, p.Isolation)
	if err != nil {
		return nil, err
	}
	return provider.Get(ctx, id.Hex())
}

// RemoveOrphans removes the sandboxes of a class whose conversations do not exist,
// and returns their number. The error joins the errors of the sandboxes that could
// not be removed.
func (b *Builder) RemoveOrphans(ctx context.Context, class string, exists func(context.Context, event.ConversationID) (bool, error)) (n int, err error) {
	provider, err := b.Sandboxes(class, b.o.Defaults.Isolation)
	if err != nil {
		return 0, err
	}
	ids, err := b.kept(class)
	if err != nil {
		return 0, err
	}
	running, err := provider.List(ctx)
	if err != nil {
		return 0, err
	}
	for _, s := range running {
		ids[s.ID] = true
	}
	var errs []error
	for id := range ids {
		owner, _, _ := strings.Cut(id, ownSandboxMark)
		conversation, ok := event.ParseConversationID(owner)
		if !ok || conversation.Hex() != owner {
			continue // not ours
		}
		found, err := exists(ctx, conversation)
		if err == nil && !found {
			n++
			err = provider.Remove(ctx, id)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sandbox %s: %w", id, err))
		}
	}
	return n, errors.Join(errs...)
}

// kept are the ids of the sandboxes of a class that have files, also of those that
// have ended.
func (b *Builder) kept(class string) (map[string]bool, error) {
	ids := map[string]bool{}
	entries, err := os.ReadDir(b.o.Classes.Sandboxes.Get(class).DirIn(b.o.SandboxDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	for _, e := range entries {
		ids[e.Name()] = true
	}
	return ids, nil
}
