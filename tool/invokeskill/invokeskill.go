// Package invokeskill is the tool with which the model reads a skill.
//
// # Usage
//
// [Definition] is offered if skill.HasInvocable; [New] takes a function that
// returns the skills. The executor runs in the controller's process.
//
// # Concurrency and failure
//
// The executor is safe for concurrent use if its functions are. A name of no
// skill, or of one that the model must not read, gives an observation that lists
// the skills that it may.
package invokeskill

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/tool"
)

//go:embed invokeskill.md
var description string

// Definition describes the tool.
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "invoke_skill",
		Kind:        "InvokeSkillTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "name", Type: "string", Required: true, Description: "The <name> of the skill in the list."},
		}},
		Annotations:     event.Annotations{Title: "invoke_skill", ReadOnly: true, Idempotent: true},
		ActionKind:      "InvokeSkillAction",
		ObservationKind: "InvokeSkillObservation",
		Local:           true,
		Locks: func(a event.Action) []string {
			if i, ok := a.(*event.InvokeSkillAction); ok {
				return []string{"skill:" + strings.TrimSpace(i.Name)}
			}
			return nil
		},
		Decode: tool.DecodeInto[event.InvokeSkillAction],
	}
}

// Options configure the executor.
type Options struct {
	// Skills returns the conversation's skills as they are now.
	Skills func() []skill.Skill
	// Workspace is the directory that the model works in; a skill inside it is
	// named relative to it.
	Workspace string
	// Run runs an inline !`command` of a skill where the model's commands run, and returns
	// the text in its place; nil for none.
	Run func(ctx context.Context, s skill.Skill, command string) string
	// Invoked is called with the name of each skill that was read; may be nil.
	Invoked func(name string)
}

// New returns the tool's executor.
func New(o Options) tool.Executor { return executor{o} }

type executor struct{ o Options }

// Execute implements [tool.Executor].
func (e executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.InvokeSkillAction)
	if !ok {
		return nil, fmt.Errorf("invoke_skill cannot run a %T", c.Action)
	}
	name := strings.TrimSpace(a.Name)
	skills := e.o.Skills()
	i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.Name == name })
	switch {
	case i < 0:
		return e.answer(name, true, fmt.Sprintf("Unknown skill '%s'. Available skills: %s.", name, invocable(skills))), nil
	case !skill.Invocable(skills[i]):
		return e.answer(name, true, fmt.Sprintf("Skill '%s' cannot be invoked directly. It comes by itself when its trigger does.", name)), nil
	}
	s := skills[i]
	var run func(string) string
	if e.o.Run != nil {
		run = func(command string) string { return e.o.Run(ctx, s, command) }
	}
	text := skill.Render(s.Content, run) + e.location(s)
	if e.o.Invoked != nil {
		e.o.Invoked(name)
	}
	return e.answer(name, false, text), nil
}

func (e executor) answer(name string, isError bool, text string) *event.InvokeSkillObservation {
	return &event.InvokeSkillObservation{
		ObservationBase: event.ObservationBase{Content: event.Texts(text), IsError: isError},
		SkillName:       name,
	}
}

func invocable(skills []skill.Skill) string {
	var names []string
	for _, s := range skills {
		if skill.Invocable(s) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return "<none>"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// location describes where the files of a skill are, in the reference's words. A
// skill that was not loaded from a file has no location.
func (e executor) location(s skill.Skill) string {
	if s.Source == nil || *s.Source == "" {
		return ""
	}
	source := *s.Source
	if rest, ok := strings.CutPrefix(source, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		source = filepath.Join(home, rest)
	}
	source, err := filepath.Abs(source)
	if err == nil {
		source, err = filepath.EvalSymlinks(source)
	}
	if err != nil {
		return ""
	}
	if st, err := os.Stat(source); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	at := filepath.Dir(source)
	if rel := skill.Touched(e.o.Workspace, at); rel != "" {
		at = rel
	}
	return fmt.Sprintf("\n\n---\nThis skill is located at `%s`. Any files it references (e.g. under `scripts/`, `references/`, `assets/`) are relative to that directory.", at)
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

// Tool registers the tool. Package session/build defines it for each conversation.
var Tool = tool.Registration{
	Name: "invoke_skill", Sets: tool.Included,
	Shown: tool.Shown{Action: "InvokeSkillAction", Deed: tool.Deed{Verb: "Use the skill", Class: "skill"}, Subjects: []string{"name"}},
}
