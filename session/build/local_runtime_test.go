package build

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
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
