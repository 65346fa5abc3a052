// Package tasktracker is the tool with which the model keeps a list of the
// steps of its work.
//
// # Usage
//
// [Definition] is offered to the model. [New] takes a function that returns
// the list of the conversation's state: the list is stored in the event stream
// (the last TaskTrackerObservation of the active branch), so it survives
// restarts, and a rewound conversation has the list of that time.
//
// # Concurrency and failure
//
// The executor keeps nothing of its own and is as safe for concurrent use as
// the function given to New. It fails only on an action of another tool.
package tasktracker

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

//go:embed tasktracker.md
var description string

// Definition describes the tool (docs/openhands/tools.md section 2).
func Definition() *tool.Definition {
	item := tool.Schema{Properties: []tool.Property{
		{Name: "title", Type: "string", Required: true, Description: "The step, in a few words."},
		{Name: "notes", Type: "string", Description: "Details, if any."},
		{Name: "status", Type: "string", Enum: []string{event.TaskTodo, event.TaskInProgress, event.TaskDone},
			Description: "Where the step stands; todo when absent."},
	}}
	return &tool.Definition{
		Name:        "task_tracker",
		Kind:        "TaskTrackerTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "command", Type: "string", Enum: []string{"view", "plan"},
				Description: "view (when absent) shows the list, plan replaces it."},
			{Name: "task_list", Type: "array", Items: &tool.Property{Object: &item, Type: "object"},
				Description: "The whole list, for plan."},
		}},
		Annotations:     event.Annotations{Idempotent: true},
		ActionKind:      "TaskTrackerAction",
		ObservationKind: "TaskTrackerObservation",
		Local:           true,
		Locks:           func(event.Action) []string { return []string{"task_tracker"} },
		Repair:          repair,
		Decode:          decode,
	}
}

// repair assumes the command plan for a list without a command.
func repair(args *tool.Arguments) {
	if !args.Has("command") && args.Has("task_list") {
		args.SetText("command", "plan")
	}
}

func decode(args json.RawMessage) (event.Action, error) {
	action, err := tool.DecodeInto[event.TaskTrackerAction](args)
	if err != nil {
		return nil, err
	}
	a, ok := action.(*event.TaskTrackerAction)
	if !ok {
		return nil, fmt.Errorf("decoded a %T", action)
	}
	for i, item := range a.TaskList {
		switch item.Status { // the decoder accepts other names for them
		case event.TaskTodo, event.TaskInProgress, event.TaskDone:
		case "":
			a.TaskList[i].Status = event.TaskTodo
		default:
			return nil, fault.New(fault.Invalid, fmt.Sprintf(
				"status of task_list[%d] must be todo, in_progress or done, not %q", i, item.Status))
		}
	}
	return a, nil
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "task_tracker", Description: "Keep a list of the steps of a longer task.",
	Sets: tool.Standard | tool.Terminal | tool.GPT5 | tool.Gemini,
	Shown: tool.Shown{
		Action: "TaskTrackerAction", Deed: tool.Deed{Verb: "Update the plan", Class: "plan"},
		Commands: map[string]tool.Deed{"view": {Verb: "Look at the plan", Class: "look"}},
	},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	Local:      func(b tool.Beside) tool.Executor { return New(b.Tasks) },
}

// New returns the tool's executor. load returns the current list and must not
// be nil.
func New(load func() []event.TaskItem) tool.Executor { return executor{load} }

type executor struct{ load func() []event.TaskItem }

// Execute implements [tool.Executor].
func (x executor) Execute(_ context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.TaskTrackerAction)
	if !ok {
		return nil, fmt.Errorf("task_tracker cannot run a %T", c.Action)
	}
	obs := &event.TaskTrackerObservation{Command: a.Command}
	switch a.Command {
	case "plan":
		obs.TaskList = a.TaskList
		obs.Content = event.Texts(fmt.Sprintf("The task list now has %s.\n%s", count(a.TaskList), render(a.TaskList)))
	case "view", "":
		obs.Command = "view"
		obs.TaskList = x.load()
		text := render(obs.TaskList)
		text = cmp.Or(text, "The task list is empty. Use the command plan to make one.")
		obs.Content = event.Texts(text)
	default:
		obs.IsError = true
		obs.TaskList = x.load()
		obs.Content = event.Texts(fmt.Sprintf("There is no command %q; the commands are view and plan.", a.Command))
	}
	return obs, nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

func count(items []event.TaskItem) string {
	done := 0
	for _, it := range items {
		if it.Status == event.TaskDone {
			done++
		}
	}
	noun := "items"
	if len(items) == 1 {
		noun = "item"
	}
	return fmt.Sprintf("%d %s, %d done", len(items), noun, done)
}

var marks = map[string]string{event.TaskTodo: "[ ]", event.TaskInProgress: "[>]", event.TaskDone: "[x]"}

func render(items []event.TaskItem) string {
	var b strings.Builder
	for i, it := range items {
		mark := marks[it.Status]
		if mark == "" {
			mark = marks[event.TaskTodo]
		}
		fmt.Fprintf(&b, "%d. %s %s\n", i+1, mark, it.Title)
		if it.Notes != "" {
			fmt.Fprintf(&b, "   %s\n", strings.ReplaceAll(it.Notes, "\n", "\n   "))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
