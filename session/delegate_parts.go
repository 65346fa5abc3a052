package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// skillsOf returns the documents of the skills that a definition names, nil if it names none. They
// are its parent's, the project's or the user's; NotFound if one is not there.
func (w *worker) skillsOf(ctx context.Context, parent *spec.Agent, d subagent.Definition) ([]any, error) {
	if len(d.Skills) == 0 {
		return nil, nil
	}
	there, err := w.knownSkills(ctx, parent)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, name := range d.Skills {
		i := slices.IndexFunc(there, func(s skill.Skill) bool { return s.Name == name })
		if i < 0 {
			names := make([]string, len(there))
			for i, s := range there {
				names[i] = s.Name
			}
			return nil, fault.New(fault.NotFound, fmt.Sprintf("the agent %s names the skill %q, which is not there; the skills are: %s",
				d.Name, clipped(name), cmp.Or(strings.Join(names, ", "), "none")))
		}
		doc, err := skillDoc(there[i])
		if err != nil {
			return nil, err
		}
		out = append(out, doc)
	}
	return out, nil
}

// knownSkills are the skills of a worker's agent, of its project and of the user.
func (w *worker) knownSkills(ctx context.Context, parent *spec.Agent) ([]skill.Skill, error) {
	all := w.skills
	inside, err := w.c.WorkspaceInside()
	if err != nil {
		return nil, err
	}
	var project []skill.Skill
	if files := w.res.Files(); inside && files != nil {
		if project, _, err = files.Skills(ctx); err != nil {
			return nil, fmt.Errorf("read the skills of the project: %w", err)
		}
	} else if !inside {
		project, _ = w.c.m.o.Files.ProjectSkills(w.c.Workspace())
	}
	user, _ := w.c.m.o.Files.UserSkills()
	all = skill.Merge(skill.Merge(all, project), user)
	if about := parent.Context; about != nil {
		all = skill.Without(all, about.DisabledSkills)
	}
	return all, nil
}

func skillDoc(s skill.Skill) (any, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the skill %s: %w", s.Name, err)
	}
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("encode the skill %s: %w", s.Name, err)
	}
	return spec.SkillSchema.Check(v, schema.Reading{}, "skills", s.Name)
}

// serversOf are the MCP servers of a sub-agent: its parent's, which it shares, and its own.
func serversOf(parents, own *schema.Map) *schema.Map {
	all := schema.NewMap()
	if parents != nil {
		all = parents.Copy()
	}
	for _, name := range own.Keys() {
		all.Set(name, own.Get(name))
	}
	return all
}

// sealServers adds the MCP servers of the configuration's agents to its sealed servers.
func (c *configuration) sealServers() error {
	all := schema.NewMap()
	if len(c.rec.AgentServers) > 0 {
		v, err := schema.Parse(c.rec.AgentServers)
		if err != nil {
			return fault.Wrap(err, fault.Corrupt, "read the MCP servers of the agents")
		}
		all, _ = v.(*schema.Map)
	}
	for _, d := range c.rec.Agents {
		if d.Servers == nil {
			continue
		}
		sealed, err := schema.Dump(spec.MCPServers, d.Servers, schema.Writing{Mode: schema.Sealed, Keys: c.m.o.Ring})
		if err != nil {
			return fmt.Errorf("seal the MCP servers of the agent %s: %w", d.Name, err)
		}
		all.Set(d.Name, sealed)
	}
	if all.Len() == 0 {
		return nil
	}
	var err error
	c.rec.AgentServers, err = schema.Encode(all)
	return err
}

// openServers gives definitions of the configuration their MCP servers. Those that no key opens
// are left out.
func (g Delegation) openServers(all []subagent.Definition) {
	g.c.mu.Lock()
	raw := g.c.rec.AgentServers
	g.c.mu.Unlock()
	if len(raw) == 0 {
		return
	}
	v, err := schema.Parse(raw)
	stored, _ := v.(*schema.Map)
	for i, d := range all {
		if err != nil || stored.Get(d.Name) == nil || d.Servers != nil {
			continue
		}
		servers, err := schema.Check(spec.MCPServers, stored.Get(d.Name), schema.Reading{Keys: g.c.m.o.Ring}, "mcp_config")
		if err != nil {
			g.c.m.o.Log.Warn("open the MCP servers of an agent", "conversation", g.c.id, "agent", d.Name, "err", err)
			continue
		}
		all[i].Servers, _ = servers.(*schema.Map)
	}
}
