package acpagent

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// granted is the result of an action that asked for a permission.
const granted = "Allowed. The agent program does it itself; its tool call has the result."

// NewPermission returns the executor of the actions of [Permissions]: whoever runs one has allowed it.
func NewPermission() tool.Executor { return permission{} }

type permission struct{}

// Execute implements [tool.Executor].
func (permission) Execute(_ context.Context, c tool.Call) (event.Observation, error) {
	return &event.MCPToolObservation{ObservationBase: event.ObservationBase{Content: event.Texts(granted)}, ToolName: c.Tool}, nil
}

// Close implements [tool.Executor].
func (permission) Close() error { return nil }
