// Package routetask is the tool with which the model has a classifier choose another saved LLM
// profile for the conversation (docs/openhands/tools.md section 3).
//
// # Usage
//
// [New] takes the function that classifies and switches. The executor runs in the controller's
// process.
//
// # Concurrency and failure
//
// The definition locks everything, so that no other call of the response runs during the switch.
// A classification that fails is an observation: the model continues with the LLM that it has.
package routetask

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Name is the model's name for the tool, and Class the name by which agents ask for it.
const (
	Name  = "route_task_to_model"
	Class = "ClassifyAndSwitchLLMTool"
)

//go:embed routetask.md
var description string

// Definition describes the tool.
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:            Name,
		Kind:            Class,
		Description:     strings.TrimSpace(description),
		ActionKind:      "ClassifyAndSwitchLLMAction",
		ObservationKind: "ClassifyAndSwitchLLMObservation",
		Local:           true,
		Decode:          tool.DecodeInto[event.ClassifyAndSwitchLLMAction],
	}
}

// Routed is the choice of a classifier.
type Routed struct {
	Class   string // in the user's words
	Profile string
	Model   string
}

// Route classifies the task and switches the conversation. After an error the fields are set as
// far as they are known.
type Route func(ctx context.Context) (Routed, error)

// New returns the tool's executor.
func New(r Route) tool.Executor { return executor{r} }

type executor struct{ route Route }

// Execute implements [tool.Executor].
func (e executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	if _, ok := c.Action.(*event.ClassifyAndSwitchLLMAction); !ok {
		return nil, fmt.Errorf("route_task_to_model cannot run a %T", c.Action)
	}
	obs := &event.ClassifyAndSwitchLLMObservation{}
	got, err := e.route(ctx)
	for to, value := range map[**string]string{&obs.ChosenClass: got.Class, &obs.Model: got.Profile, &obs.ActiveModel: got.Model} {
		if value != "" {
			*to = &value
		}
	}
	if err != nil {
		obs.IsError, obs.Content = true, event.Texts("The task was not routed: "+fault.Text(err))
		return obs, nil
	}
	obs.Content = event.Texts(fmt.Sprintf("The task is of the class '%s'. From the next step on the LLM profile is '%s', with the model '%s'.", got.Class, got.Profile, got.Model))
	return obs, nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

// Tool registers the tool. Package session/build gives it the executor of each conversation.
var Tool = tool.Registration{
	Name: Class, Description: "Let a classifier choose the LLM profile for a task, by the active meta-profile.",
	Shown:      tool.Shown{Action: "ClassifyAndSwitchLLMAction", Deed: tool.Deed{Verb: "Choose the model", Class: "model"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
}
