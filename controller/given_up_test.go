package controller_test

import (
	"context"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// TestActionGivenUpWithTheRun holds that an action which its runtime gives up because the run
// is to stop has no answer, and is asked for again by the next run.
func TestActionGivenUpWithTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(calls([2]string{"terminal", `{"command":"ls"}`}), done()))
	b.rt.do = func(ctx context.Context, r tool.Request) (event.Observation, error) {
		if r.Again || r.Action.Kind() != "TerminalAction" {
			return echo(ctx, r)
		}
		if _, err := b.Interrupt(ctx); err != nil {
			t.Error(err)
		}
		return nil, fault.New(fault.Canceled, "given up")
	}
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State(); s.Status != state.Paused || len(s.Pending) != 1 {
		t.Fatalf("status %s with %d pending, want paused and one", s.Status, len(s.Pending))
	}
	b.mustRun(t)
	if s := b.State(); s.Status != state.Finished || len(s.Pending) != 0 {
		t.Errorf("status %s with %d pending, want finished and none", s.Status, len(s.Pending))
	}
}

// TestCountAs: the spending of another conversation is recorded once.
func TestCountAs(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(done()))
	other := llm.Metrics{ModelName: "m", AccumulatedCost: 2, Costs: []llm.CostEntry{{Cost: 2}}}
	for range 2 {
		must.Succeed(t, b.CountAs(t.Context(), "other", other))
	}
	s := b.State()
	if m := s.Stats.UsageToMetrics["other"]; m.AccumulatedCost != 2 || len(m.Costs) != 0 || s.Seq != 1 {
		t.Errorf("counted %+v in %d events", m, s.Seq)
	}
}
