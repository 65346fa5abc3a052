package controller_test

import (
	"context"
	"testing"

	"github.com/deft-dev/deft/llm"
)

// TestStepCost: the allocations of a message, a call of the model and its answer do not
// depend on the length of the history. It is not parallel, because it counts them.
func TestStepCost(t *testing.T) {
	cost := func(n int) float64 {
		b := setup(t, nil, func(context.Context, int, llm.Request) (*llm.Response, error) { return says("ok"), nil })
		b.model.info.ContextWindow = 100_000_000
		b.write(t, n)
		b.reopen(t)
		return testing.AllocsPerRun(10, func() {
			b.send(t, "go")
			b.mustRun(t)
		})
	}
	if short, long := cost(100), cost(10_000); long > 1.5*short {
		t.Errorf("%v allocations after 100 events, %v after 10,000", short, long)
	}
}
