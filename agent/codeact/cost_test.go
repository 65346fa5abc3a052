package codeact_test

import (
	"fmt"
	"testing"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// TestStepCost: the allocations of a step with two new events do not depend on the length of
// the history. It is not parallel, because it counts them.
func TestStepCost(t *testing.T) {
	cost := func(n int) float64 {
		const steps = 20
		view := append(make([]event.Event, 0, n+2*steps+4), system(), user("task"))
		grow := func() {
			id := fmt.Sprint(len(view))
			view = append(view, call(id, id, ""), result(id, "output of the command"))
		}
		for len(view) < n {
			grow()
		}
		a, m := newAgent(t, codeact.Config{}), &stub{}
		return testing.AllocsPerRun(steps, func() {
			grow()
			if _, err := step(a, m, &state.State{View: view[:len(view):len(view)]}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if short, long := cost(100), cost(10_000); long > 1.5*short {
		t.Errorf("%v allocations after 100 events, %v after 10,000", short, long)
	}
}
