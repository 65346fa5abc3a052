package postgres

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/fault"
)

// TestAgain: a server that starts for a while is waited for by a new follower, and ends another read.
func TestAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		wait, needs time.Duration
		slow        time.Duration // of each try
		fails       bool
	}{
		{"a follower", retryTime, 10 * time.Second, 0, false},
		{"a follower, for ever", retryTime, time.Hour, 0, true},
		{"a read", 0, 10 * time.Second, 0, true},
		{"a read of a pool whose connections are lost", 0, 700 * time.Millisecond, 0, false},
		{"the same on a slow machine", 0, 3 * time.Second, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := (&Store{ctx: t.Context()}).again(context.WithoutCancel(t.Context()), c.wait, func() error {
					time.Sleep(c.slow)
					if time.Since(start) < c.needs {
						return fault.New(fault.Unavailable, "it starts")
					}
					return nil
				})
				if fails := err != nil; fails != c.fails {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
			})
		})
	}
}
