package session

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
)

// Command is a word that begins a message, after a slash, and gives the agent a skill.
type Command struct {
	Name        string // without the slash
	Description string
	Inputs      string // the names of its inputs; "" for none
}

// Commands returns the commands of the skills that an agent has in a workspace of this machine, by
// name.
func (m *Manager) Commands(a *spec.Agent, workspace string) ([]Command, error) {
	all, err := m.skillsOf(a, func() ([]skill.Skill, []skill.Warning) { return m.o.Files.ProjectSkills(workspace) })
	if err != nil {
		return nil, err
	}
	var out []Command
	for _, s := range all.skills {
		if s.Trigger == nil {
			continue
		}
		for _, word := range s.Trigger.Words {
			name, ok := strings.CutPrefix(word, "/")
			if !ok || name == "" || strings.ContainsAny(name, " \t\n") || slices.ContainsFunc(out, func(c Command) bool { return c.Name == name }) {
				continue
			}
			c := Command{Name: name, Description: s.Name}
			if s.Description != nil && *s.Description != "" {
				c.Description = skill.Line(*s.Description)
			}
			var inputs []string
			for _, in := range s.Inputs {
				inputs = append(inputs, in.Name)
			}
			c.Inputs = strings.Join(inputs, " ")
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(x, y Command) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}
