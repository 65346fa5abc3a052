package build

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
)

type counted struct{ n *int }

func (counted) Close() error { return nil }

func (c counted) Execute(context.Context, tool.Call) (event.Observation, error) {
	*c.n++
	return &event.ThinkObservation{}, nil
}

// TestBesideRuntime executes again actions that a killed process may have begun:
// only those without an effect are run.
func TestBesideRuntime(t *testing.T) {
	t.Parallel()
	var thought, called int
	rt := newBesideRuntime(map[string]tool.Executor{
		(&event.ThinkAction{}).Kind(): counted{&thought}, (&event.MCPToolAction{}).Kind(): counted{&called},
	})
	defer rt.Close()
	for _, tt := range []struct {
		action event.Action
		kind   fault.Kind
	}{
		{&event.ThinkAction{}, ""}, {&event.MCPToolAction{}, fault.Interrupted},
	} {
		_, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Action: tt.action}, Again: true})
		if tt.kind == "" && err != nil || tt.kind != "" && !fault.Is(err, tt.kind) {
			t.Errorf("%s: %v, want %q", tt.action.Kind(), err, tt.kind)
		}
	}
	if diff := cmp.Diff([]int{1, 0}, []int{thought, called}); diff != "" {
		t.Errorf("runs of think and MCP (-want +got):\n%s", diff)
	}
}

// TestLocalRuntimeRepeats: also without a sandbox, an action that a stop of the process has
// cut off is done again where that can do no harm, and nothing else.
func TestLocalRuntimeRepeats(t *testing.T) {
	t.Parallel()
	var finished, ran int
	e, err := newLocalRuntime(t.Context(), RuntimeConfig{
		NewExecutors: func(ExecutorConfig) (map[string]tool.Executor, error) {
			return map[string]tool.Executor{(&event.TerminalAction{}).Kind(): counted{&ran}}, nil
		},
		Local: map[string]tool.Executor{(&event.FinishAction{}).Kind(): counted{&finished}},
	})
	must.Succeed(t, err)
	if _, err := e.Local().Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Action: &event.FinishAction{}}, Again: true}); err != nil || finished != 1 {
		t.Errorf("finish: %v, done %d times", err, finished)
	}
	if _, err := e.Runtime().Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Action: &event.TerminalAction{}}, Again: true}); !fault.Is(err, fault.Interrupted) || ran != 0 {
		t.Errorf("terminal: %v, done %d times", err, ran)
	}
	must.Report(t, e.Close(t.Context(), false))
}
