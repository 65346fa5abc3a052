package conversation

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// turnstile lets few callers at a time do a piece of work that is all
// computing. A thousand conversations that are opened at once take as long
// either way, but what is waiting here does not stand in the scheduler's queue
// in front of everybody else: requests for other things, /health among them,
// are answered in between.
//
// Nobody may wait for a stranger, or for another turn, inside of one.
type turnstile struct{ *semaphore.Weighted }

func newTurnstile() turnstile {
	return turnstile{semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))}
}

// enter waits for a turn, first come, first served.
func (t turnstile) enter(ctx context.Context) (leave func(), err error) {
	if err := t.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { t.Release(1) }, nil
}
