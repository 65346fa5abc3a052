// Package startchild is the tool with which the model starts a conversation beside its own
// (docs/openhands/tools.md section 3).
//
// # Usage
//
// [New] takes the function that starts one. The executor runs in the controller's process.
//
// # Concurrency and failure
//
// Calls of one response may run side by side. A conversation that cannot be started is an
// observation.
package startchild

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Name is the name by which agents ask for the tool, and the model calls it.
const Name = "start_child_conversation"

//go:embed startchild.md
var description string

// The values of isolation.
const (
	Worktree = "worktree"
	Shared   = "shared"
)

// Definition describes the tool.
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        Name,
		Kind:        "StartChildConversationTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "task", Type: "string", Required: true, Description: "The whole task, for somebody who knows nothing of this conversation."},
			{Name: "title", Type: "string", Description: "A short title of the conversation."},
			{Name: "isolation", Type: "string", Enum: []string{Worktree, Shared}, Description: "Where it works; " + Worktree + " if left out."},
		}},
		Annotations:     event.Annotations{OpenWorld: true},
		ActionKind:      "StartChildConversationAction",
		ObservationKind: "StartChildConversationObservation",
		Local:           true,
		Locks:           func(event.Action) []string { return nil },
		Decode:          decode,
	}
}

func decode(args json.RawMessage) (event.Action, error) {
	action, err := tool.DecodeInto[event.StartChildConversationAction](args)
	if a, ok := action.(*event.StartChildConversationAction); ok && err == nil && strings.TrimSpace(a.Task) == "" {
		return nil, fault.New(fault.Invalid, "task must not be empty")
	}
	return action, err
}

// Child is a conversation that was started.
type Child struct {
	ID, Parent               event.ConversationID
	Status, Title, Workspace string
	Isolation                string // as it is, not as it was asked for
}

// Start starts a conversation for the action with an id. Asked again for the same one, it returns
// the conversation that is there.
type Start func(ctx context.Context, id event.ID, a *event.StartChildConversationAction) (Child, error)

// New returns the tool's executor.
func New(s Start) tool.Executor { return executor{s} }

type executor struct{ start Start }

// Execute implements [tool.Executor].
func (e executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.StartChildConversationAction)
	if !ok {
		return nil, fmt.Errorf("start_child_conversation cannot run a %T", c.Action)
	}
	obs := &event.StartChildConversationObservation{}
	child, err := e.start(ctx, c.ID, a)
	if err != nil {
		obs.IsError, obs.Content = true, event.Texts("The conversation was not started: "+fault.Text(err))
		return obs, nil
	}
	id, parent := string(child.ID), string(child.Parent)
	obs.ConversationID, obs.ParentConversationID = &id, &parent
	obs.Status, obs.Workspace, obs.Isolation = &child.Status, &child.Workspace, &child.Isolation
	if child.Title != "" {
		obs.Title = &child.Title
	}
	obs.Content = event.Texts(fmt.Sprintf("The conversation %s has begun, in %s (%s). It works beside this one.", id, child.Workspace, child.Isolation))
	return obs, nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

// Tool registers the tool. Package session/build gives it the executor of each conversation.
var Tool = tool.Registration{
	Name: Name, Description: "Let the agent start conversations beside its own.",
	Shown:      tool.Shown{Action: "StartChildConversationAction", Deed: tool.Deed{Verb: "Start a conversation", Class: "task"}, Subjects: []string{"title", "task"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
}
