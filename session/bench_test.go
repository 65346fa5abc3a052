package session_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/deft-dev/deft/llm"
)

// BenchmarkSubAgentStart measures the time from the call of a task to the first request of the
// sub-agent's model. The budget is 5 ms (p50).
func BenchmarkSubAgentStart(b *testing.B) {
	var called time.Time
	took := make([]time.Duration, 0, b.N)
	parent := func(context.Context, llm.Request) (*llm.Response, error) {
		if len(took) == b.N {
			return says("done"), nil
		}
		called = time.Now()
		return gives(fmt.Sprint("part ", len(took))), nil
	}
	child := func(context.Context, llm.Request) (*llm.Response, error) {
		took = append(took, time.Since(called))
		return finished("1"), nil
	}
	h := setup(b, family(parent, child), nil)
	s := h.request(b, taskTools+`,"max_iterations":1000000`)
	c, _, err := h.Create(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	send(b, c, "begin")
	settle(b, c)
	if len(took) != b.N {
		b.Fatalf("%d sub-agents were started", len(took))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}
