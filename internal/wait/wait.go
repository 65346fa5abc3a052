// Package wait waits for a time that a caller can end. It is safe for concurrent use.
package wait

import (
	"context"
	"time"
)

// For returns nil after d, or the error of ctx once that has ended.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
