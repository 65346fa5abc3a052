package session

import (
	"context"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/fault"
)

// takeModel gives a conversation whose model is not set up, such as one that was
// replayed, the model that its owner's new conversations have. Where that is not set up
// either nothing changes: the first call says so.
func (w *worker) takeModel(ctx context.Context) error {
	if w.models.get(agent.UsageAgent).Info().Missing == "" {
		return nil
	}
	l, err := w.c.m.o.Settings.DefaultLLM(ctx, w.c.Owner())
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := w.models.open(l)
	if err != nil || m.Info().Missing != "" {
		return err
	}
	return w.switchTo(ctx, l)
}
