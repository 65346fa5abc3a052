package tool_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
)

// TestNewExecutor holds that an action of another tool is refused.
func TestNewExecutor(t *testing.T) {
	t.Parallel()
	x := tool.NewExecutor("glob", func(_ context.Context, a *event.GlobAction) event.Observation {
		return &event.GlobObservation{Pattern: a.Pattern}
	})
	got, err := x.Execute(t.Context(), tool.Call{Action: &event.GlobAction{Pattern: "*"}})
	if diff := cmp.Diff(event.Observation(&event.GlobObservation{Pattern: "*"}), got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := x.Execute(t.Context(), tool.Call{Action: &event.GrepAction{}}); err == nil || err.Error() != fmt.Sprintf("glob cannot run a %T", &event.GrepAction{}) {
		t.Errorf("another tool's action: %v", err)
	}
	must.Report(t, x.Close())
}
