package skill

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// The types of a [Trigger].
const (
	Keyword = "keyword" // words of a user message
	Task    = "task"    // the same, for skills with inputs
	Path    = "path"    // files that a tool touched
)

// maxDescription is how long a description may be, in characters (AgentSkills
// specification).
const maxDescription = 1024

// Trigger says when a skill's content is added. Words are compared without
// regard to case and as whole words; paths are globs as in .gitignore.
type Trigger struct {
	Type  string
	Words []string // keywords, triggers or paths, by Type
}

// Input is a value that a task skill asks for.
type Input struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Resources are the files beside a SKILL.md, relative to their directories.
type Resources struct {
	Root       string   `json:"skill_root"` // absolute
	Scripts    []string `json:"scripts"`
	References []string `json:"references"`
	Assets     []string `json:"assets"`
}

// Skill is one skill (docs/openhands/sdk-wire.md section 5.4).
type Skill struct {
	Name    string `json:"name"`
	Content string `json:"content"`
	// Trigger is nil for a skill that is always active, or, of the AgentSkills
	// format, that the model reads when it wants.
	Trigger *Trigger `json:"trigger"`
	Source  *string  `json:"source"` // a path, or nil for one made by a program
	// MCPTools are MCP servers by name, as mcp_config.
	MCPTools               json.RawMessage   `json:"mcp_tools"`
	Inputs                 []Input           `json:"inputs"`
	AgentSkills            bool              `json:"is_agentskills_format"` // from a SKILL.md
	Version                string            `json:"version"`
	Description            *string           `json:"description"`
	License                *string           `json:"license"`
	Compatibility          *string           `json:"compatibility"`
	Metadata               map[string]string `json:"metadata"`
	AllowedTools           []string          `json:"allowed_tools"`
	DisableModelInvocation bool              `json:"disable_model_invocation"`
	Resources              *Resources        `json:"resources"`
}

// Info is a skill as the server lists it.
type Info struct {
	Name                   string   `json:"name"`
	Type                   string   `json:"type"` // repo, knowledge or agentskills
	Content                string   `json:"content"`
	Triggers               []string `json:"triggers"`
	Source                 *string  `json:"source"`
	Description            *string  `json:"description"`
	AgentSkills            bool     `json:"is_agentskills_format"`
	DisableModelInvocation bool     `json:"disable_model_invocation"`
}

// Warning says why something is not among the skills.
type Warning struct {
	Path string
	Err  error
}

// Error implements error.
func (w Warning) Error() string { return w.Path + ": " + w.Err.Error() }

// Unwrap returns the cause.
func (w Warning) Unwrap() error { return w.Err }

// mostLeftOut bounds the files that [LeftOut] names one by one.
const mostLeftOut = 10

// LeftOut says to the user which skills, plugins or agents are not there.
func LeftOut(warnings []Warning) (all []string) {
	for i, w := range warnings {
		if i == mostLeftOut {
			return append(all, fmt.Sprintf("more are not loaded: %d", len(warnings)-i))
		}
		all = append(all, "not loaded: "+w.Error())
	}
	return all
}

// Type returns how the server lists the skill.
func (s Skill) Type() string {
	switch {
	case s.AgentSkills:
		return "agentskills"
	case s.Trigger == nil:
		return "repo"
	}
	return "knowledge"
}

// Always reports whether the skill is always in the prompt: instructions of a repository.
func (s Skill) Always() bool { return !s.AgentSkills && s.Trigger == nil }

// Info returns the skill as the server lists it.
func (s Skill) Info() Info {
	i := Info{
		Name: s.Name, Type: s.Type(), Content: s.Content, Triggers: []string{}, Source: s.Source,
		Description: s.Description, AgentSkills: s.AgentSkills, DisableModelInvocation: s.DisableModelInvocation,
	}
	if s.Trigger != nil && s.Trigger.Type != Path {
		i.Triggers = append(i.Triggers, s.Trigger.Words...)
	}
	return i
}

// triggerJSON is all forms of a trigger on the wire.
type triggerJSON struct {
	Type     string   `json:"type"`
	Keywords []string `json:"keywords,omitempty"`
	Triggers []string `json:"triggers,omitempty"`
	Paths    []string `json:"paths,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (t Trigger) MarshalJSON() ([]byte, error) {
	words := t.Words
	if words == nil {
		words = []string{}
	}
	switch t.Type {
	case Keyword:
		return json.Marshal(struct {
			Type  string   `json:"type"`
			Words []string `json:"keywords"`
		}{t.Type, words})
	case Task:
		return json.Marshal(struct {
			Type  string   `json:"type"`
			Words []string `json:"triggers"`
		}{t.Type, words})
	case Path:
		return json.Marshal(struct {
			Type  string   `json:"type"`
			Words []string `json:"paths"`
		}{t.Type, words})
	}
	return nil, fmt.Errorf("trigger of unknown type %q", t.Type)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Trigger) UnmarshalJSON(b []byte) error {
	var j triggerJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fault.Wrap(err, fault.Invalid, "trigger")
	}
	*t = Trigger{Type: j.Type}
	switch j.Type {
	case Keyword:
		t.Words = j.Keywords
	case Task:
		t.Words = j.Triggers
	case Path:
		t.Words = j.Paths
	default:
		return fault.New(fault.Invalid, fmt.Sprintf("trigger: type must be keyword, task or path, not %q", j.Type))
	}
	if t.Words == nil {
		return fault.New(fault.Invalid, "trigger: the list of a "+j.Type+" trigger is missing")
	}
	return nil
}

// UnmarshalJSON reads a skill as a client sends it. Name and content are
// needed; unknown fields are ignored.
func (s *Skill) UnmarshalJSON(b []byte) error {
	type plain Skill
	given := struct {
		Name    *string `json:"name"`
		Content *string `json:"content"`
		*plain
	}{plain: &plain{Version: "1.0.0"}}
	if err := json.Unmarshal(b, &given); err != nil {
		return fault.Wrap(err, fault.Invalid, "skill")
	}
	if given.Name == nil || given.Content == nil {
		return fault.New(fault.Invalid, "a skill needs name and content")
	}
	*s = Skill(*given.plain)
	s.Name, s.Content = *given.Name, *given.Content
	s.settle()
	return nil
}

// MarshalJSON writes all fields, as the reference does.
func (s Skill) MarshalJSON() ([]byte, error) {
	type plain Skill
	if s.Inputs == nil {
		s.Inputs = []Input{}
	}
	s.Version = cmp.Or(s.Version, "1.0.0")
	return json.Marshal(plain(s))
}

var variable = lazyregexp.New(`\$\{[a-zA-Z_][a-zA-Z0-9_]*\}`)

// askForInputs ends the content of a task skill that needs values.
const askForInputs = "\n\nIf the message does not give a value for each of these variables, ask the user for the missing ones before you begin."

// referenceAsks is how a skill that went through the reference ends.
const referenceAsks = "If the user didn't provide any of these variables"

// settle makes the fields consistent: path rules are not for the model to invoke,
// task skills ask for their inputs, descriptions have a limit.
func (s *Skill) settle() {
	if s.Description != nil {
		if r := []rune(*s.Description); len(r) > maxDescription {
			where := "the skill's file"
			if s.Source != nil {
				where = *s.Source
			}
			note := []rune("… [shortened; the whole skill is in " + where + "]")
			short := string(r[:max(0, maxDescription-len(note))]) + string(note)
			s.Description = &short
		}
	}
	if s.Trigger == nil {
		return
	}
	switch s.Trigger.Type {
	case Path:
		s.DisableModelInvocation = true
	case Task:
		needs := len(s.Inputs) > 0 || variable().MatchString(s.Content)
		if needs && s.Content != "" && !strings.Contains(s.Content, strings.TrimSpace(askForInputs)) &&
			!strings.Contains(s.Content, referenceAsks) {
			s.Content += askForInputs
		}
	}
}

// Merge returns the skills of first, then the skills of second whose names are not
// taken.
func Merge(first, second []Skill) []Skill {
	merged := make([]Skill, 0, len(first)+len(second))
	seen := make(map[string]bool, len(first)+len(second))
	for _, list := range [][]Skill{first, second} {
		for _, s := range list {
			if !seen[s.Name] {
				seen[s.Name] = true
				merged = append(merged, s)
			}
		}
	}
	return merged
}

// Override returns both lists; a later skill replaces an earlier one of its
// name and takes its position.
func Override(earlier, later []Skill) []Skill {
	out := slices.Clone(earlier)
	at := make(map[string]int, len(earlier)+len(later))
	for i, s := range out {
		at[s.Name] = i
	}
	for _, s := range later {
		if i, ok := at[s.Name]; ok {
			out[i] = s
			continue
		}
		at[s.Name] = len(out)
		out = append(out, s)
	}
	return out
}

// Without returns the skills that are not in disabled.
func Without(skills []Skill, disabled []string) []Skill {
	if len(disabled) == 0 {
		return skills
	}
	kept := make([]Skill, 0, len(skills))
	for _, s := range skills {
		if !slices.Contains(disabled, s.Name) {
			kept = append(kept, s)
		}
	}
	return kept
}

// Invocable reports whether the model may read the skill by its name.
func Invocable(s Skill) bool { return !s.DisableModelInvocation }

// NameError describes a wrong name of a skill of the AgentSkills format in a
// directory; nil for a correct one. directory may be empty.
func NameError(name, directory string) error {
	switch {
	case name == "":
		return fault.New(fault.Invalid, "the name is empty")
	case len(name) > 64:
		return fault.New(fault.Invalid, fmt.Sprintf("the name has %d characters; 64 are allowed", len(name)))
	case !namePattern().MatchString(name):
		return fault.New(fault.Invalid, fmt.Sprintf("the name %q must be of lower case letters, digits and single hyphens between them", name))
	case directory != "" && name != directory:
		return fault.New(fault.Invalid, fmt.Sprintf("the name %q is not the directory's, %q", name, directory))
	}
	return nil
}

var namePattern = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)
