// Package finish is the tool with which the model ends its turn.
//
// # Usage
//
// [Definition] is offered to the model; [New] returns its executor, which
// runs in the controller's process. That the run ends is the controller's work: it
// sees a FinishObservation.
//
// # Concurrency and failure
//
// The executor keeps nothing, is safe for concurrent use and fails only on an
// action of another tool. The definition locks everything, so that earlier calls
// of the same response have ended.
package finish

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

//go:embed finish.md
var description string

// Definition describes the tool (docs/openhands/tools.md section 2).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "finish",
		Kind:        "FinishTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "message", Type: "string", Required: true, Description: "The last message to the user."},
		}},
		Annotations:     event.Annotations{Title: "finish", ReadOnly: true, Idempotent: true},
		ActionKind:      "FinishAction",
		ObservationKind: "FinishObservation",
		Local:           true,
		Decode:          tool.DecodeInto[event.FinishAction],
	}
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "FinishTool", Sets: tool.Included,
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	Local:      func(tool.Beside) tool.Executor { return New() },
}

// New returns the tool's executor.
func New() tool.Executor { return executor{} }

type executor struct{}

// Execute implements [tool.Executor]: the observation is the message.
func (executor) Execute(_ context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.FinishAction)
	if !ok {
		return nil, fmt.Errorf("finish cannot run a %T", c.Action)
	}
	return &event.FinishObservation{ObservationBase: event.ObservationBase{Content: event.Texts(a.Message)}}, nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }
