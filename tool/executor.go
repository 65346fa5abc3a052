package tool

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/event"
)

// NewExecutor makes the executor of a tool whose actions are of type A, are answered by answer, and
// hold nothing that must be closed.
func NewExecutor[A event.Action](name string, answer func(context.Context, A) event.Observation) Executor {
	return executor[A]{name, answer}
}

type executor[A event.Action] struct {
	name   string
	answer func(context.Context, A) event.Observation
}

// Close implements [Executor].
func (executor[A]) Close() error { return nil }

// Execute implements [Executor].
func (x executor[A]) Execute(ctx context.Context, c Call) (event.Observation, error) {
	a, ok := c.Action.(A)
	if !ok {
		return nil, fmt.Errorf("%s cannot run a %T", x.name, c.Action)
	}
	return x.answer(ctx, a), nil
}
