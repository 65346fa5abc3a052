// Package workflow is the tool with which the model coordinates sub-agents by a script
// (docs/openhands/tools.md section 3). The reference's scripts are Python, here they are Starlark.
//
// # Usage
//
// [Definition] is offered with the types of agents that there are. [Run] runs a script; package
// session runs its sub-agents.
//
// A script runs in a process of its own, which is this program again (see script.go): what a model
// writes may use memory and processor time without end, and there both are bounded. The process
// has no other use for its rights: the language has no files, network or clock.
//
// # Concurrency and failure
//
// Scripts may run side by side. A script that is wrong, or ends in an error, is an error of
// kind fault.Invalid, one that exceeds a bound fault.Limit.
package workflow

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Name is the model's name for it, and Set the name by which agents ask for it.
const (
	Name = "workflow"
	Set  = "workflow_tool_set"
)

// The reference's limits.
const (
	maxScript      = 20_000 // characters
	mostAtOnce     = 64     // sub-agents
	maxReduceInput = 12_000 // characters
)

//go:embed workflow.md
var description string

// Definition describes the tool. agents are the lines about the types of agents.
func Definition(agents string) *tool.Definition {
	return &tool.Definition{
		Name:        Name,
		Kind:        "WorkflowTool",
		Description: strings.Replace(strings.TrimSpace(description), "{{agents}}", agents, 1),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "name", Type: "string", Required: true, Description: "A short name of the workflow. People see it."},
			{Name: "script", Type: "string", Required: true, Description: "The script, with a function main(wf)."},
			{Name: "max_concurrency", Type: "integer", Description: "How many sub-agents work at a time, 1 to 64; 8 if left out."},
		}},
		Annotations:     event.Annotations{Title: Name, Destructive: true, OpenWorld: true},
		ActionKind:      "WorkflowAction",
		ObservationKind: "WorkflowObservation",
		Local:           true,
		Locks:           func(event.Action) []string { return nil },
		Decode:          decode,
	}
}

func decode(args json.RawMessage) (event.Action, error) {
	action, err := tool.DecodeInto[event.WorkflowAction](args)
	a, ok := action.(*event.WorkflowAction)
	if err != nil || !ok {
		return action, err
	}
	if a.MaxConcurrency < 1 || a.MaxConcurrency > mostAtOnce {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("max_concurrency must be between 1 and %d", mostAtOnce))
	}
	if n := utf8.RuneCountInString(a.Script); n > maxScript {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("the script has %d characters, and %d are the most", n, maxScript))
	}
	return a, nil
}

// Tool registers the tool. Package session/build defines it for each conversation.
var Tool = tool.Registration{
	Name: Set, Description: "Coordinate many sub-agents by a script.",
	Shown: tool.Shown{Action: "WorkflowAction", Deed: tool.Deed{Verb: "Run a workflow", Class: "task"}, Subjects: []string{"name"}},
}
