package session

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// plugins are the parts that the plugins of this machine's user add to a conversation. They
// are read again with each worker and not stored, as the user's skills are (reference:
// LocalConversation._ensure_plugins_loaded): a plugin that is disabled has no effect from
// then on.
type plugins struct {
	all      []plugin.Plugin
	hooks    *hook.Config
	agents   []subagent.Definition
	warnings []string
	// project are the plugins of a project on this machine.
	project projectPlugins
}

// loadPlugins returns the agent with the skills, commands and MCP servers of the user's
// plugins, beside their other parts. Plugins that were named for the conversation come before
// others of their names.
func (c *Conversation) loadPlugins(ctx context.Context, a *spec.Agent, host *worker) (*spec.Agent, plugins) {
	c.mu.Lock()
	chosen := c.rec.OwnSkills
	c.mu.Unlock()
	if a.Kind == spec.ACPKind {
		return a, plugins{}
	}
	if host != nil {
		return addToGuest(a, host.plugins, chosen)
	}
	a, out := usersPlugins(c, a)
	return c.ProjectHooks().addPlugins(ctx, a, out)
}

func usersPlugins(c *Conversation, a *spec.Agent) (*spec.Agent, plugins) {
	c.mu.Lock()
	given, none := c.rec.Plugins, c.rec.NoPlugins
	c.mu.Unlock()
	if none || c.Owner() != identity.LocalTenant {
		return a, plugins{}
	}
	all, warnings := c.m.o.Plugins.User()
	all = slices.DeleteFunc(all, func(p plugin.Plugin) bool { return slices.Contains(given, p.Name) })
	if inside, err := c.WorkspaceInside(); err != nil || inside {
		for i := range all {
			all[i].Detach(all[i].Path)
		}
	}
	var out plugins
	for _, p := range all {
		added, err := plugin.AddTo(a, []plugin.Plugin{p})
		if err != nil {
			warnings = append(warnings, skill.Warning{Path: "plugin " + p.Name, Err: errors.New(fault.Text(err))})
			continue
		}
		a = added.Agent
		out.all = append(out.all, p)
		out.hooks = hook.Merge(out.hooks, added.Hooks)
		out.agents = append(out.agents, added.Agents...)
		out.warnings = append(out.warnings, added.Warnings...)
	}
	out.warnings = append(out.warnings, skill.LeftOut(warnings)...)
	return a, out
}

// addToGuest adds the plugins of its host to a sub-agent: skills, commands, and the hooks for
// tools, which a task must not get round. MCP servers are lent by the host anyway. chosen says that
// the sub-agent's definition names its skills.
func addToGuest(a *spec.Agent, of plugins, chosen bool) (*spec.Agent, plugins) {
	out := plugins{project: of.project}
	for _, p := range of.all {
		if chosen {
			break
		}
		added, err := plugin.AddTo(a, []plugin.Plugin{{Name: p.Name, Path: p.Path, Skills: p.Skills, Commands: p.Commands}})
		if err != nil {
			out.warnings = append(out.warnings, "plugin "+p.Name+": "+fault.Text(err))
			continue
		}
		a = added.Agent
	}
	if h := of.hooks; h != nil {
		out.hooks = hook.Merge(&hook.Config{PreToolUse: h.PreToolUse, PostToolUse: h.PostToolUse})
	}
	return a, out
}
