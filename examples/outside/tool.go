package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// CountAction asks for the number of words in a file.
type CountAction struct {
	event.ActionBase
	Path string `json:"path"`
}

// Kind implements [event.Action].
func (*CountAction) Kind() string { return "CountAction" }

// CountObservation is that number.
type CountObservation struct {
	event.ObservationBase
	Words int `json:"words"`
}

// Kind implements [event.Observation].
func (*CountObservation) Kind() string { return "CountObservation" }

func init() {
	event.RegisterAction[CountAction]()
	event.RegisterObservation[CountObservation]()
}

// Definition describes the tool to agents.
func Definition() *tool.Definition {
	return &tool.Definition{
		Name: "count_words", Kind: "CountTool",
		Description: "Counts the words of a file in the workspace.",
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "path", Type: "string", Required: true, Description: "Path of the file, relative to the workspace."},
		}},
		Annotations:     event.Annotations{ReadOnly: true, Idempotent: true},
		ActionKind:      (&CountAction{}).Kind(),
		ObservationKind: (&CountObservation{}).Kind(),
		Locks:           func(event.Action) []string { return nil }, // safe beside any other
		Decode:          tool.DecodeInto[CountAction],
	}
}

// Counter runs the tool. It is safe for concurrent use.
type Counter struct{ workspace string }

// NewCounter returns the tool's executor for the files of a workspace.
func NewCounter(workspace string) *Counter { return &Counter{workspace} }

// Execute implements [tool.Executor]. A file that cannot be read is an
// observation for the agent, not a failure of the tool.
func (x *Counter) Execute(_ context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*CountAction)
	if !ok {
		return nil, fmt.Errorf("count_words cannot run a %T", c.Action)
	}
	text, err := x.read(a.Path)
	if err != nil {
		return failed(err), nil
	}
	n := len(bytes.Fields(text))
	return &CountObservation{
		ObservationBase: event.ObservationBase{Content: event.Texts(fmt.Sprintf("%s has %d words", a.Path, n))}, Words: n,
	}, nil
}

func failed(err error) *CountObservation {
	return &CountObservation{ObservationBase: event.ObservationBase{
		Content: event.Texts("cannot count: " + err.Error()), IsError: true,
	}}
}

// read does not follow the agent out of the workspace.
func (x *Counter) read(path string) ([]byte, error) {
	root, err := os.OpenRoot(x.workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(path)
}

// Close implements [tool.Executor].
func (*Counter) Close() error { return nil }
