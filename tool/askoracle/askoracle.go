// Package askoracle is the tool with which the model asks the LLM of the profile "oracle" for a
// second opinion (docs/openhands/tools.md section 3).
//
// # Usage
//
// [New] takes the function that asks. The executor runs in the controller's process.
//
// # Concurrency and failure
//
// Questions of one response may be asked side by side. One that cannot be answered is an
// observation: the model goes on without the advice.
package askoracle

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Name is the name by which agents ask for the tool, and the model calls it.
const Name = "ask_oracle"

//go:embed askoracle.md
var description string

// Definition describes the tool.
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        Name,
		Kind:        "AskOracleTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "question", Type: "string", Required: true, Description: "The question, for somebody who knows nothing of this conversation."},
			{Name: "context", Type: "string", Description: "What the answer depends on: code, errors, what was tried, constraints."},
		}},
		Annotations:     event.Annotations{ReadOnly: true, OpenWorld: true},
		ActionKind:      "AskOracleAction",
		ObservationKind: "AskOracleObservation",
		Local:           true,
		Locks:           func(event.Action) []string { return nil },
		Decode:          tool.DecodeInto[event.AskOracleAction],
	}
}

// Ask asks the question. about is "" for none.
type Ask func(ctx context.Context, question, about string) (answer string, err error)

// New returns the tool's executor.
func New(ask Ask) tool.Executor { return executor{ask} }

type executor struct{ ask Ask }

// Execute implements [tool.Executor].
func (e executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.AskOracleAction)
	if !ok {
		return nil, fmt.Errorf("ask_oracle cannot run a %T", c.Action)
	}
	about := ""
	if a.Context != nil {
		about = *a.Context
	}
	obs := &event.AskOracleObservation{}
	answer, err := e.ask(ctx, a.Question, about)
	if err != nil {
		obs.IsError, answer = true, "The oracle has not answered: "+fault.Text(err)
	}
	obs.Content = event.Texts(answer)
	return obs, nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

// Tool registers the tool. Package session/build gives it the executor of each conversation.
var Tool = tool.Registration{
	Name: Name, Description: "Let the agent ask the model of the profile \"oracle\" for a second opinion.",
	Shown:      tool.Shown{Action: "AskOracleAction", Deed: tool.Deed{Verb: "Ask for advice", Class: "model"}, Subjects: []string{"question"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
}
