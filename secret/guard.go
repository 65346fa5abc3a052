package secret

import (
	"context"

	"github.com/deft-dev/deft/event"
)

// Guard is a registry as a controller uses it.
type Guard struct{ Registry *Registry }

// Mask returns the event without secrets, see [Registry.MaskEvent].
func (g Guard) Mask(ev event.Event) event.Event { return g.Registry.MaskEvent(ev) }

// Secrets returns what an action may know: a command the secrets that it
// names, see [Registry.Env]; anything else nothing, input to what runs too.
func (g Guard) Secrets(ctx context.Context, a event.Action) map[string]string {
	if t, ok := a.(*event.TerminalAction); ok && !t.IsInput {
		return g.Registry.Env(ctx, t.Command)
	}
	return nil
}
