package executor_test

import (
	"context"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	thinking "github.com/deft-dev/deft/tool/think"
)

// TestInMemoryRepeatable: an action that may have run before runs again.
func TestInMemoryRepeatable(t *testing.T) {
	t.Parallel()
	x := executor.New(map[string]tool.Executor{"ThinkAction": thinking.New()}, executor.InMemoryRepeatable())
	defer func() { must.Report(t, x.Close(context.WithoutCancel(t.Context()))) }()
	old := tool.Request{Call: tool.Call{ID: "old", Action: &event.ThinkAction{Thought: "hm"}}, Again: true}
	if _, err := x.Execute(t.Context(), old); err != nil {
		t.Errorf("an action of an earlier process: %v", err)
	}
}

// TestInMemory: new actions run; one that may have run before is refused.
func TestInMemory(t *testing.T) {
	t.Parallel()
	x := executor.New(map[string]tool.Executor{"ThinkAction": thinking.New()}, executor.InMemory())
	defer func() { must.Report(t, x.Close(context.WithoutCancel(t.Context()))) }()
	action := &event.ThinkAction{Thought: "hm"}
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "new", Action: action}}); err != nil {
		t.Errorf("a new action: %v", err)
	}
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "new", Action: action}, Again: true}); err != nil {
		t.Errorf("the same again: %v", err)
	}
	// That it has run something proves nothing about an earlier process.
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "old", Action: action}, Again: true}); !fault.Is(err, fault.Interrupted) {
		t.Errorf("an action of an earlier process: %v", err)
	}
}
