package main

import (
	"context"
	"os"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// trialAction and trialObservation belong to the tool of the script tool_registered.
type trialAction struct {
	event.ActionBase
	Text string `json:"text"`
}

// Kind implements [event.Action].
func (*trialAction) Kind() string { return "TrialAction" }

type trialObservation struct{ event.ObservationBase }

// Kind implements [event.Observation].
func (*trialObservation) Kind() string { return "TrialObservation" }

// registerTrialTool registers a tool as a linked package does, in the programs of scripts
// that set DEFT_TEST_TRIAL and in their sandboxes.
func registerTrialTool() {
	if os.Getenv("DEFT_TEST_TRIAL") == "" && (len(os.Args) < 2 || os.Args[1] != "action-server") {
		return
	}
	event.RegisterAction[trialAction]()
	event.RegisterObservation[trialObservation]()
	tool.Register(tool.Registration{
		Name: "trial", Description: "Try something.", Sets: tool.Standard | tool.Terminal,
		Definition: func(tool.Model) *tool.Definition {
			return &tool.Definition{
				Name: "trial", Kind: "TrialTool", Description: "Say where it is tried.",
				Parameters: tool.Schema{Properties: []tool.Property{{Name: "text", Type: "string", Required: true, Description: "What is said."}}},
				ActionKind: "TrialAction", ObservationKind: "TrialObservation", Decode: tool.DecodeInto[trialAction],
			}
		},
		New: func(p tool.Place) (tool.Executor, error) { return trialExecutor{p.Workspace}, nil },
	})
}

type trialExecutor struct{ workspace string }

// Execute implements [tool.Executor].
func (x trialExecutor) Execute(_ context.Context, c tool.Call) (event.Observation, error) {
	files, err := os.ReadDir(x.workspace)
	if err != nil {
		return nil, err
	}
	said := []string{"tried", strings.ToUpper(c.Action.(*trialAction).Text), "beside"}
	for _, f := range files {
		said = append(said, f.Name())
	}
	return &trialObservation{event.ObservationBase{Content: event.Texts(strings.Join(said, " ") + " by " + os.Args[1])}}, nil
}

// Close implements [tool.Executor].
func (trialExecutor) Close() error { return nil }
