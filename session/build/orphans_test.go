package build_test

import (
	"context"
	"slices"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/session/build"
)

// listed is a provider with some sandboxes.
type listed struct {
	sandbox.Provider
	ids     []string
	listing func()
	removed []string
}

func (l *listed) List(context.Context) (all []sandbox.Status, err error) {
	l.listing()
	for _, id := range l.ids {
		all = append(all, sandbox.Status{ID: id, State: sandbox.Running})
	}
	return all, nil
}

func (l *listed) Remove(_ context.Context, id string) error {
	l.removed = append(l.removed, id)
	return nil
}

// TestRemoveOrphansBesideStart: a conversation that begins while a server looks for
// orphans keeps its sandbox, because it is stored before that starts.
func TestRemoveOrphansBesideStart(t *testing.T) {
	t.Parallel()
	old, begun, gone := event.NewConversationID(), event.NewConversationID(), event.NewConversationID()
	stored := map[event.ConversationID]bool{old: true}
	p := &listed{ids: []string{old.Hex(), begun.Hex(), begun.Hex() + ".program-x", gone.Hex(), gone.Hex() + ".program-y", "mine", string(gone)}}
	p.listing = func() { stored[begun] = true }
	classes := build.StandardClasses()
	classes.Sandboxes = classes.Sandboxes.With(docker.Class.Made(func(sandbox.Config) (sandbox.Provider, error) { return p, nil }))
	b, err := build.New(build.Options{Dir: t.TempDir(), Classes: classes})
	must.Succeed(t, err)
	n, err := b.RemoveOrphans(t.Context(), docker.Class.Name, func(_ context.Context, id event.ConversationID) (bool, error) {
		return stored[id], nil
	})
	must.Succeed(t, err)
	slices.Sort(p.removed)
	if want := []string{gone.Hex(), gone.Hex() + ".program-y"}; n != len(want) || !slices.Equal(p.removed, want) {
		t.Errorf("%d removed: %q, want %q", n, p.removed, want)
	}
}
