// Package switchllm is the tool with which the model switches the conversation
// to another saved LLM profile.
//
// # Usage
//
// [Definition] is offered with the names of the profiles; [New] takes the
// function that switches. The executor runs in the controller's process.
//
// # Concurrency and failure
//
// The executor keeps nothing. The definition locks everything, so that no
// other call of the response runs during the switch. A switch that fails is an
// observation: the model continues with the LLM that it has.
package switchllm

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

//go:embed switchllm.md
var description string

// Definition describes the tool for the saved profiles.
func Definition(profiles []string) *tool.Definition {
	list := "- there is none"
	if len(profiles) > 0 {
		list = "- " + strings.Join(slices.Sorted(slices.Values(profiles)), "\n- ")
	}
	return &tool.Definition{
		Name:        "switch_llm",
		Kind:        "SwitchLLMTool",
		Description: strings.Replace(strings.TrimSpace(description), "{{profiles}}", list, 1),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "profile_name", Type: "string", Required: true, Description: "The profile, as it is listed."},
			{Name: "reason", Type: "string", Required: true, Description: "Why it suits the next steps better, in one sentence."},
		}},
		ActionKind:      "SwitchLLMAction",
		ObservationKind: "SwitchLLMObservation",
		Local:           true,
		Decode:          tool.DecodeInto[event.SwitchLLMAction],
	}
}

// Switch makes the conversation use a profile from the next call of the model
// on, and returns the profile's model. The error is of kind fault.NotFound if
// there is no such profile.
type Switch func(ctx context.Context, profile string) (model string, err error)

// New returns the tool's executor.
func New(s Switch) tool.Executor { return executor{s} }

type executor struct{ change Switch }

// Execute implements [tool.Executor].
func (e executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.SwitchLLMAction)
	if !ok {
		return nil, fmt.Errorf("switch_llm cannot run a %T", c.Action)
	}
	obs := &event.SwitchLLMObservation{ProfileName: a.ProfileName, Reason: &a.Reason}
	model, err := e.change(ctx, a.ProfileName)
	switch {
	case fault.Is(err, fault.NotFound):
		obs.Content = event.Texts(fmt.Sprintf("There is no LLM profile '%s'.", a.ProfileName))
	case err != nil:
		obs.Content = event.Texts(fmt.Sprintf("Cannot switch to the LLM profile '%s': %v", a.ProfileName, err))
	default:
		obs.ActiveModel = &model
		obs.Content = event.Texts(fmt.Sprintf("From the next step on the LLM profile is '%s', with the model '%s'.", a.ProfileName, model))
	}
	obs.IsError = err != nil
	return obs, nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

// Tool registers the tool. Package session/build defines it for each conversation.
var Tool = tool.Registration{
	Name: "switch_llm", Description: "Let the agent take another saved LLM profile.", Sets: tool.Standard,
	Shown: tool.Shown{Action: "SwitchLLMAction", Deed: tool.Deed{Verb: "Switch the model", Class: "model"}, Subjects: []string{"profile_name"}},
}
