package plugin

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// maxSkills bounds the skills of an agent with plugins, as the reference does.
const maxSkills = 100

// Added is an agent with plugins.
type Added struct {
	Agent *spec.Agent
	// Agents can get tasks from it; of one name the last one counts.
	Agents []subagent.Definition
	// Names are the plugins' names.
	Names []string
	// Hooks are the hooks of all plugins; nil for none.
	Hooks *hook.Config
	// Warnings name the parts without effect.
	Warnings []string
}

// AddTo adds skills, commands, MCP servers and agents of plugins to an agent, and collects
// their hooks. They replace
// others of their names, also of earlier plugins. An agent of another program (ACP) is
// Unsupported, more than 100 skills Limit.
func AddTo(a *spec.Agent, plugins []Plugin) (Added, error) {
	added := Added{Agent: a}
	if len(plugins) == 0 {
		return added, nil
	}
	if a.Kind == spec.ACPKind {
		return added, fault.New(fault.Unsupported, "plugins cannot be given to an ACP agent")
	}
	tasks := slices.ContainsFunc(a.Tools, func(t spec.Tool) bool { return spec.GivesTasks(t.Name) })
	doc, err := a.Doc().Copy(), error(nil)
	for _, p := range plugins {
		if err = p.addSkills(doc); err != nil {
			return added, err
		}
		p.addServers(doc)
		added.Names = append(added.Names, p.Name)
		added.Hooks = hook.Merge(added.Hooks, p.Hooks)
		added.Warnings = append(added.Warnings, p.unused(tasks)...)
		if tasks {
			added.Agents = merged(added.Agents, p.Agents)
		}
	}
	added.Agent, err = spec.AgentFrom(doc)
	return added, err
}

// AddSkills adds skills that a marketplace has beside its plugins to an agent. The agent's own stay.
func AddSkills(a *spec.Agent, skills []skill.Skill) (*spec.Agent, error) {
	if len(skills) == 0 {
		return a, nil
	}
	doc := a.Doc().Copy()
	own, _ := doc.Object("agent_context").Get("skills").([]any)
	p := Plugin{Name: "of a marketplace"}
	for _, s := range skills {
		if !slices.ContainsFunc(own, func(e any) bool {
			m, ok := e.(*schema.Map)
			return ok && m.Text("name") == s.Name
		}) {
			p.Skills = append(p.Skills, s)
		}
	}
	if err := p.addSkills(doc); err != nil {
		return nil, err
	}
	return spec.AgentFrom(doc)
}

// unused names the parts of a plugin that have no effect.
func (p *Plugin) unused(tasks bool) (parts []string) {
	if len(p.Agents) > 0 && !tasks {
		parts = append(parts, "plugin "+p.Name+": its agents are not used, because this agent has no tool that gives tasks")
	}
	for _, w := range p.Warnings {
		parts = append(parts, "plugin "+p.Name+": "+w.Error())
	}
	return parts
}

func (p *Plugin) addSkills(agent *schema.Map) error {
	context := agent.Object("agent_context")
	if context == nil {
		var err error
		if context, err = spec.ContextSchema.Check(schema.NewMap(), schema.Reading{}); err != nil {
			return err
		}
	}
	context = context.Copy()
	list, _ := context.Get("skills").([]any)
	list = slices.Clone(list)
	for _, s := range slices.Concat(p.Skills, p.Commands) {
		raw, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("encode the skill %s: %w", s.Name, err)
		}
		v, err := schema.Parse(raw)
		if err != nil {
			return fmt.Errorf("encode the skill %s: %w", s.Name, err)
		}
		one, err := spec.SkillSchema.Check(v, schema.Reading{}, "skills", s.Name)
		if err != nil {
			return fmt.Errorf("plugin %s: %w", p.Name, err)
		}
		list = slices.DeleteFunc(list, func(e any) bool {
			m, ok := e.(*schema.Map)
			return ok && m.Text("name") == s.Name
		})
		list = append(list, one)
	}
	if len(list) > maxSkills {
		return fault.New(fault.Limit, fmt.Sprintf("with the plugin %s the agent has %d skills, and %d are the most", p.Name, len(list), maxSkills))
	}
	context.Set("skills", list)
	agent.Set("agent_context", context)
	return nil
}

func (p *Plugin) addServers(agent *schema.Map) {
	if p.Servers.Len() == 0 {
		return
	}
	all := schema.NewMap()
	if given := agent.Object("mcp_config"); given != nil {
		all = given.Copy()
	}
	for _, name := range p.Servers.Keys() {
		all.Set(name, p.Servers.Get(name))
	}
	agent.Set("mcp_config", all)
}

// merged puts definitions in the place of earlier ones of their names.
func merged(all, more []subagent.Definition) []subagent.Definition {
	for _, d := range more {
		all = slices.DeleteFunc(all, func(e subagent.Definition) bool { return e.Name == d.Name })
		all = append(all, d)
	}
	return all
}
