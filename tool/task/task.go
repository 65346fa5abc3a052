// Package task is the tool with which the model gives a task to a sub-agent: an agent
// with a conversation of its own (docs/openhands/tools.md section 3).
//
// # Usage
//
// [Definition] is offered with the types of agents that there are. There is no executor
// here: the conversation of a sub-agent is made and run by package session.
//
// # Concurrency and failure
//
// Definitions are immutable. Tasks of one answer may run side by side, but for those that go
// on with the same sub-agent.
package task

import (
	_ "embed"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// Name is the model's name for it.
const Name = "task"

//go:embed task.md
var description string

// Agent is a type of agent that can be given a task.
type Agent struct {
	Name        string
	Description string
	// Tools are the names of its tools; none stands for the caller's.
	Tools []string
}

// maxText is how many characters a text about one agent has at most in the description of
// the tool, which is sent with every call of the model.
const maxText = 600

// Definition describes the tool for the types of agents. defaultType is the one that is
// taken where the model names none.
func Definition(agents []Agent, defaultType string) *tool.Definition {
	return &tool.Definition{
		Name:        Name,
		Kind:        "TaskTool",
		Description: strings.Replace(strings.TrimSpace(description), "{{agents}}", List(agents), 1),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "description", Type: "string", Description: "What the task is, in three to five words. People see it."},
			{Name: "prompt", Type: "string", Required: true, Description: "The whole task, for somebody who knows nothing of this conversation."},
			{Name: "subagent_type", Type: "string", Description: "The type of agent that gets the task; " + defaultType + " if left out."},
			{Name: "resume", Type: "string", Description: "The task_id of an earlier task to go on with."},
		}},
		Annotations:     event.Annotations{Title: Name, Destructive: true, OpenWorld: true},
		ActionKind:      "TaskAction",
		ObservationKind: "TaskObservation",
		Local:           true,
		Locks:           locks,
		Decode:          tool.DecodeInto[event.TaskAction],
	}
}

func locks(action event.Action) []string {
	if a, ok := action.(*event.TaskAction); ok && a.Resume != nil {
		return []string{"task:" + *a.Resume}
	}
	return nil
}

// List are the types of agents as lines for a model.
func List(agents []Agent) string {
	if len(agents) == 0 {
		return "- there is none"
	}
	var b strings.Builder
	for i, a := range agents {
		if i > 0 {
			b.WriteByte('\n')
		}
		tools := "the tools that you have"
		if len(a.Tools) > 0 {
			tools = strings.Join(a.Tools, ", ")
		}
		b.WriteString("- " + oneLine(a.Name))
		if about := oneLine(a.Description); about != "" {
			b.WriteString(": " + about)
		}
		b.WriteString(" (tools: " + oneLine(tools) + ")")
	}
	return b.String()
}

// oneLine is a text of a file, which anybody may have written, on one line.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxText {
		text = string(r[:maxText]) + "…"
	}
	return text
}

// Tool registers the tool. Package session/build defines it for each conversation.
var Tool = tool.Registration{
	Name: "task_tool_set", Description: "Give a task of its own to another agent.", Sets: tool.Terminal,
	Shown: tool.Shown{Action: "TaskAction", Deed: tool.Deed{Verb: "Delegate", Class: "task"}, Subjects: []string{"description", "prompt"}},
}
