package terminal

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

//go:embed terminal.md
var description string

// Definition returns the terminal tool as models see it
// (docs/openhands/tools.md section 2). There is one shell, so all its actions
// share one lock.
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:            "terminal",
		Kind:            "TerminalTool",
		Description:     description,
		Parameters:      parameters(),
		Annotations:     event.Annotations{Title: "terminal", Destructive: true, OpenWorld: true},
		ActionKind:      "TerminalAction",
		ObservationKind: "TerminalObservation",
		Locks:           func(event.Action) []string { return []string{"terminal"} },
		Decode:          decode,
	}
}

func parameters() tool.Schema {
	return tool.Schema{Properties: []tool.Property{
		{
			Name: "command", Type: "string", Required: true,
			Description: "The bash script to run; it may have several lines. Empty to get more output of the command that is still running. With is_input: the text to type into the running program, or the name of one key, for example C-c, C-d, C-z, UP, DOWN, LEFT, RIGHT, HOME, END, PGUP, PGDN, TAB, ESC, BS, ENTER.",
		},
		{
			Name: "is_input", Type: "boolean",
			Description: "True if command is input for the program that is running, not a new command. Text is followed by ENTER by itself, a key is not. Default false.",
		},
		{
			Name: "timeout", Type: "number",
			Description: "Give back control after this many seconds even if the command still prints; it keeps running. Without it, control comes back when there was no new output for 30 seconds. Set it for commands that are silent for long.",
		},
		{
			Name: "reset", Type: "boolean",
			Description: "True to end the shell and everything it runs, and to start a fresh one, in which command is then run. Only for a terminal that no longer responds. Not together with is_input. Default false.",
		},
	}}
}

func decode(args json.RawMessage) (event.Action, error) {
	var v struct {
		Command *string  `json:"command"`
		IsInput bool     `json:"is_input"`
		Timeout *float64 `json:"timeout"`
		Reset   bool     `json:"reset"`
	}
	if err := json.Unmarshal(args, &v); err != nil {
		return nil, fmt.Errorf("the arguments of terminal are command (text), is_input and reset (true or false) and timeout (a number of seconds): %w", err)
	}
	a := &event.TerminalAction{IsInput: v.IsInput, Timeout: v.Timeout, Reset: v.Reset}
	switch {
	case v.Command != nil:
		a.Command = *v.Command
	case !v.Reset:
		return nil, fmt.Errorf("command is missing; give the script to run, or an empty text to get more output of what is running")
	}
	if msg := invalid(a); msg != "" {
		return nil, fmt.Errorf("%s", msg)
	}
	return a, nil
}

// invalid names the mistake of an action; "" if it is valid.
func invalid(a *event.TerminalAction) string {
	switch {
	case a.Reset && a.IsInput:
		return "reset and is_input cannot be combined: a fresh shell runs nothing that could take input. Reset first, then go on."
	case a.Timeout != nil && (*a.Timeout < 0 || math.IsNaN(*a.Timeout)):
		return "timeout is a number of seconds and cannot be negative."
	}
	return ""
}

// Tool registers the tool. Package executor/standard makes its executor.
var Tool = tool.Registration{
	Name: "terminal", Description: "Run shell commands in a terminal that stays open.",
	Sets:       tool.Standard | tool.Terminal | tool.GPT5 | tool.Gemini,
	Shown:      tool.Shown{Action: "TerminalAction", Deed: tool.Deed{Verb: "Run", Class: "command"}, Subjects: []string{"command"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
}
