package main

import (
	"context"
	"os/signal"

	"github.com/deft-dev/deft/cli/runcommand"
)

// untilTold returns a context that ends with the first stop signal. From then
// on the next one ends the process.
func untilTold(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	wanted := runcommand.ActiveSignals()
	if len(wanted) == 0 { // none would mean all
		return context.WithCancel(ctx)
	}
	ctx, stop = signal.NotifyContext(ctx, wanted...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
