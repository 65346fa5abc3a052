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
// Definitions are immutable. Tasks lock everything: a sub-agent works in the files, and in
// the shell, of the agent that waits for it.
package task

import (
	_ "embed"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// Name is what the model calls.
const Name = "task"

//go:embed task.md
var description string

// Agent is a type of agent that can be given a task.
type Agent struct {
	Name        string
	Description string
	// Tools are the names of its tools; none stands for those of the caller.
	Tools []string
}

// maxDescription is how many characters the description of one agent has at most in that
// of the tool, which is sent with every call of the model.
const maxDescription = 600

// Definition describes the tool for the types of agents. defaultType is the one that is
// taken where the model names none.
func Definition(agents []Agent, defaultType string) *tool.Definition {
	return &tool.Definition{
		Name:        Name,
		Kind:        "TaskTool",
		Description: strings.Replace(strings.TrimSpace(description), "{{agents}}", list(agents), 1),
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
		Decode:          tool.DecodeInto[event.TaskAction],
	}
}

func list(agents []Agent) string {
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
		b.WriteString("- " + oneLine(a.Name, maxDescription) + ": " + oneLine(a.Description, maxDescription) + " (tools: " + oneLine(tools, maxDescription) + ")")
	}
	return b.String()
}

// oneLine is a text of a file, which anybody may have written, on one line.
func oneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > limit {
		text = string(r[:limit]) + "…"
	}
	return text
}
