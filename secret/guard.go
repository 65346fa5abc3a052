package secret

import (
	"context"

	"github.com/deft-dev/deft/event"
)

// Guard is a registry as a controller uses it.
type Guard struct{ Registry *Registry }

// Mask returns the event without secrets, see [Registry.MaskEvent].
func (g Guard) Mask(ev event.Event) event.Event { return g.Registry.MaskEvent(ev) }

// Secrets returns the secrets for an action: for a command those that it names,
// see [Registry.Env]; for anything else, input to a running program included,
// none.
func (g Guard) Secrets(ctx context.Context, a event.Action) map[string]string {
	if t, ok := a.(*event.TerminalAction); ok && !t.IsInput {
		return g.Registry.Env(ctx, t.Command)
	}
	return nil
}
