package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/internal/wait"
)

func TestFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for _, c := range []struct {
			d, after time.Duration
			want     error
		}{
			{0, 0, nil},
			{-1, 0, nil},
			{time.Minute, time.Minute, nil},
			{2 * time.Hour, time.Hour, context.DeadlineExceeded},
			{0, time.Hour, context.DeadlineExceeded},
		} {
			if err := wait.For(ctx, c.d); !errors.Is(err, c.want) || time.Since(began) != c.after {
				t.Errorf("%s: %v after %s, want %v after %s", c.d, err, time.Since(began), c.want, c.after)
			}
		}
	})
}
