package codeact_test

import (
	"fmt"
	"testing"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// BenchmarkStep measures a step with an LLM that takes no time: two new events
// in a view of n. The budget is 5 ms at 5,000.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{100, 5_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			view := []event.Event{system(), user("task")}
			grow := func() {
				id := fmt.Sprint(len(view))
				view = append(view, call(id, id, ""), result(id, "output of the command"))
			}
			for len(view) < n {
				grow()
			}
			a, m := newAgent(b, codeact.Config{}), &stub{}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := step(a, m, &state.State{View: view[:len(view):len(view)]}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if len(view) > n+100 { // stay near n, and let the agent start anew
					view = view[:n:n]
					if _, err := step(a, m, &state.State{View: view}); err != nil {
						b.Fatal(err)
					}
				}
				grow()
				b.StartTimer()
			}
		})
	}
}
