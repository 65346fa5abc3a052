package controller_test

import (
	"context"
	"testing"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// preparing is a runtime that has to hear that nothing is pending.
type preparing struct {
	*stubRuntime
	prepare func() error
}

func (p preparing) Prepare(context.Context) error { return p.prepare() }

// TestRuntimeIsPreparedBeforeTheFirstAction looks at the stream from inside
// Prepare: no action may be in it that a crash could leave unproven.
func TestRuntimeIsPreparedBeforeTheFirstAction(t *testing.T) {
	t.Parallel()
	prepared, down := 0, true
	var b *bundle
	b = setup(t, func(c *controller.Config) {
		c.Runtime = preparing{&stubRuntime{do: echo}, func() error {
			prepared++
			for _, kind := range b.kinds() {
				if kind == "ActionEvent" {
					t.Error("an action is stored already")
				}
			}
			if down {
				return fault.New(fault.Unavailable, "no runtime")
			}
			return nil
		}}
	}, script(calls([2]string{"terminal", `{"command":"a"}`}), calls([2]string{"terminal", `{"command":"b"}`}),
		calls([2]string{"terminal", `{"command":"c"}`}), done()))
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State(); s.Status != state.Errored || len(s.Pending) > 0 {
		t.Errorf("status %s, %d pending: want an error and nothing pending", s.Status, len(s.Pending))
	}
	if got := b.lastError(t); got != "RuntimeUnavailable" {
		t.Errorf("error code %q", got)
	}
	down = false
	b.mustRun(t)
	if s := b.State(); s.Status != state.Finished {
		t.Errorf("status %s, want finished", s.Status)
	}
	if prepared != 2 {
		t.Errorf("prepared %d times, want once in vain and once", prepared)
	}
}
