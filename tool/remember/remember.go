// Package remember is the tool with which the model proposes a fact for the memory files, which later
// conversations begin with (docs/memory.md). Each call waits for the user's yes.
//
// # Usage
//
// [Definition] describes the tool; [New] takes the function that writes. The executor runs beside the
// controller.
//
// # Concurrency and failure
//
// The executor keeps nothing. A fact that cannot be kept is an observation with the reason.
package remember

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

//go:embed remember.md
var description string

// Name is the tool's name.
const Name = "remember"

// The scopes of facts.
const (
	Project = "project" // in the project's memory file
	User    = "user"    // in the user's
)

// MaxText bounds the text of one fact, in characters.
const MaxText = 1000

// Action is the input of the tool. It is Deft's own: the agents of OpenHands' SDK write the files
// themselves.
type Action struct {
	event.ActionBase
	Scope    string `json:"scope"`
	Text     string `json:"text"`
	Replaces string `json:"replaces,omitempty"`
}

// ActionKind and ObservationKind are the kinds of the tool's events.
const (
	ActionKind      = "RememberAction"
	ObservationKind = "RememberObservation"
)

// Kind implements [event.Action].
func (*Action) Kind() string { return ActionKind }

// Asks implements [tool.Asking].
func (a *Action) Asks() tool.Ask {
	q := tool.Ask{Title: "Keep in this project's memory", After: a.Text, Before: a.Replaces}
	if a.Scope == User {
		q.Title = "Keep in your memory, for all projects"
	}
	if strings.TrimSpace(a.Text) == "" {
		q.Title = strings.Replace(q.Title, "Keep in", "Remove from", 1)
	}
	return q
}

var _ tool.Asking = (*Action)(nil)

// Observation is the result of a call.
type Observation struct {
	event.ObservationBase
	Scope string `json:"scope"`
}

// Kind implements [event.Observation].
func (*Observation) Kind() string { return ObservationKind }

func init() {
	event.RegisterAction[Action]()
	event.RegisterObservation[Observation]()
}

// Definition describes the tool.
func Definition() *tool.Definition {
	return &tool.Definition{
		Name: Name, Kind: "RememberTool", ActionKind: ActionKind, ObservationKind: ObservationKind, Local: true,
		Description: strings.TrimSpace(description),
		Annotations: event.Annotations{Title: Name},
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "scope", Type: "string", Enum: []string{Project, User}, Required: true, Description: "Whose memory."},
			{Name: "text", Type: "string", Required: true, Description: "The fact."},
			{Name: "replaces", Type: "string", Description: "Words of that memory whose place the text takes."},
		}},
		Locks:  func(event.Action) []string { return []string{Name} },
		Decode: decode,
	}
}

func decode(args json.RawMessage) (event.Action, error) {
	made, err := tool.DecodeInto[Action](args)
	if err != nil {
		return nil, err
	}
	a, _ := made.(*Action)
	if a == nil {
		return nil, fmt.Errorf("remember cannot take a %T", made)
	}
	switch {
	case a.Scope != Project && a.Scope != User:
		return nil, fault.New(fault.Invalid, "scope must be project or user")
	case strings.TrimSpace(a.Text) == "" && strings.TrimSpace(a.Replaces) == "":
		return nil, fault.New(fault.Invalid, "text is empty, and nothing is replaced")
	case utf8.RuneCountInString(a.Text) > MaxText:
		return nil, fault.New(fault.Invalid, fmt.Sprintf("text is longer than %d characters; say it shorter", MaxText))
	}
	return a, nil
}

// Keep changes a memory file as an action says.
type Keep func(ctx context.Context, a *Action) error

// New returns the tool's executor.
func New(k Keep) tool.Executor { return executor{k} }

type executor struct{ keep Keep }

// Execute implements [tool.Executor].
func (e executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*Action)
	if !ok {
		return nil, fmt.Errorf("remember cannot run a %T", c.Action)
	}
	o := &Observation{Scope: a.Scope}
	o.Content = event.Texts("Kept. Later conversations begin with it.")
	if err := e.keep(ctx, a); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		o.Content, o.IsError = event.Texts("Nothing was kept: "+err.Error()), true
	}
	return o, nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

// Tool registers the tool. Package session/build adds it for agents that have memory files.
var Tool = tool.Registration{
	Name:  Name,
	Shown: tool.Shown{Action: ActionKind, Deed: tool.Deed{Verb: "Remember", Class: "change"}, Subjects: []string{"text", "replaces"}},
}
