// Package think is the tool with which the model writes down a thought. It
// has no effect.
//
// # Usage
//
// [Definition] is offered to the model; [New] returns its executor, which
// runs in the controller's process.
//
// # Concurrency and failure
//
// The executor keeps nothing, is safe for concurrent use and fails only on an
// action of another tool.
package think

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

//go:embed think.md
var description string

// Definition describes the tool (docs/openhands/tools.md section 2).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "think",
		Kind:        "ThinkTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "thought", Type: "string", Required: true, Description: "The thought."},
		}},
		Annotations:     event.Annotations{ReadOnly: true, Idempotent: true},
		ActionKind:      "ThinkAction",
		ObservationKind: "ThinkObservation",
		Local:           true,
		Locks:           func(event.Action) []string { return nil },
		Decode:          tool.DecodeInto[event.ThinkAction],
	}
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "ThinkTool", Sets: tool.Included,
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	Local:      func(tool.Beside) tool.Executor { return New() },
}

// New returns the tool's executor.
func New() tool.Executor { return executor{} }

type executor struct{}

// Execute implements [tool.Executor].
func (executor) Execute(_ context.Context, c tool.Call) (event.Observation, error) {
	if _, ok := c.Action.(*event.ThinkAction); !ok {
		return nil, fmt.Errorf("think cannot run a %T", c.Action)
	}
	// The text is fixed by the wire contract (docs/openhands/sdk-wire.md
	// section 8).
	return &event.ThinkObservation{ObservationBase: event.ObservationBase{
		Content: event.Texts("Your thought has been logged."),
	}}, nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }
