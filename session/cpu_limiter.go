package session

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// cpuLimiter bounds how many goroutines do a piece of work that only computes.
// Opening a thousand conversations at once takes as long either way, but those
// that wait here do not stand in the scheduler's queue before short requests
// such as /health.
//
// Work inside the limit must not wait for I/O or for another piece of limited
// work.
type cpuLimiter struct{ *semaphore.Weighted }

func newCPULimiter() cpuLimiter {
	return cpuLimiter{semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))}
}

// acquire waits for a processor, first come, first served.
func (l cpuLimiter) acquire(ctx context.Context) (release func(), err error) {
	if err := l.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { l.Release(1) }, nil
}
