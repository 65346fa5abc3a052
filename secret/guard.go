package secret

import (
	"context"
	"maps"

	"github.com/deft-dev/deft/event"
)

// Guard is a registry as a controller uses it.
type Guard struct{ Registry *Registry }

// Mask returns the event without secrets, see [Registry.MaskEvent].
func (g Guard) Mask(ev event.Event) event.Event { return g.Registry.MaskEvent(ev) }

// Restore returns the action as it runs, see [Registry.RestoreAction].
func (g Guard) Restore(ctx context.Context, a event.Action, again bool) (event.Action, error) {
	return g.Registry.RestoreAction(ctx, a, again)
}

// Secrets returns the secrets for an action: the secrets that its code names, see [Registry.Env], and
// the secrets whose values the action holds, so that they are masked where it runs.
func (g Guard) Secrets(ctx context.Context, a event.Action) map[string]string {
	var all map[string]string
	if code, ok := a.(event.Runner); ok {
		all = g.Registry.Env(ctx, code.Runs())
	}
	if held := g.Registry.heldBy(ctx, a); len(held) > 0 {
		if all == nil {
			return held
		}
		maps.Copy(all, held)
	}
	return all
}
