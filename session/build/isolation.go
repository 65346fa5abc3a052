package build

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

// Isolation returns the report of a conversation's sandbox, which runs or is paused.
// NotFound if none does.
func (b *Builder) Isolation(ctx context.Context, p session.Placement, id event.ConversationID) (sandbox.Report, error) {
	if b.placement(p).RuntimeClass == LocalRuntime {
		return sandbox.Report{Level: sandbox.None.Name}, nil
	}
	s, err := b.Sandbox(ctx, p, id)
	if err != nil {
		return sandbox.Report{}, err
	}
	return s.Report(), nil
}
