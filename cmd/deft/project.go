package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/permission"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// project is the project in a directory, whose files name programs. again asks although the user has answered.
func (c *runCmd) project(r *foreground, o runcommand.Options, dir string, again bool) runcommand.Project {
	persistence := r.persistence()
	return runcommand.Project{
		Dir: dir, Answers: permission.Open(persistence, nil), Unsandboxed: r.chosen().Open(), Again: again, Prompter: o.Prompter, Tell: r.view.Warn,
	}
}

// persistence is where the user's settings are.
func (r *foreground) persistence() string {
	dir, err := config.PersistenceDir(r.std.Env)
	if err != nil { // there is no home
		return r.paths.data
	}
	return dir
}

// hooks gives a new conversation its hooks: of --hooks, or else the user's and the project's.
func (c *runCmd) hooks(ctx context.Context, r *foreground, o runcommand.Options, s *session.Spec) error {
	if len(c.Hooks) > 0 {
		hooks, err := runcommand.ReadHooks(c.Hooks...)
		if err != nil {
			return err
		}
		return s.AddHooks(hooks)
	}
	if c.Replay != "" && c.task.Text == "" {
		return nil // they ran when the trajectory was recorded
	}
	persistence, err := config.PersistenceDir(r.std.Env)
	if err != nil {
		return err
	}
	users, err := runcommand.UserHooks(filepath.Join(persistence, "hooks.json"), r.view.Warn)
	if err == nil {
		err = s.AddHooks(users)
	}
	if err != nil || r.chosen().Class.Inside != "" { // where the project is not on this machine
		return err
	}
	s.Asked.Hooks = true
	s.ProjectHooks, err = c.project(r, o, s.Workspace.WorkingDir, c.AskHooks).Hooks(ctx)
	return err
}

// projectAgents are the project's agents to which the agent of a new conversation can give tasks.
func (c *runCmd) projectAgents(r *foreground, s *session.Spec) []subagent.Definition {
	if !slices.ContainsFunc(s.Agent.Tools, func(t spec.Tool) bool { return spec.GivesTasks(t.Name) }) {
		return nil
	}
	before := slices.Clone(s.Agents)
	for _, p := range c.usersPlugins(r) {
		before = append(before, p.Agents...)
	}
	all, _ := subagent.Catalog{}.List(subagent.Query{Project: true, ProjectDir: s.Workspace.WorkingDir}) // mistakes are named by the conversation
	return slices.DeleteFunc(all, func(d subagent.Definition) bool {
		return slices.ContainsFunc(before, func(own subagent.Definition) bool { return own.Name == d.Name })
	})
}

// usersPlugins are the user's own plugins, which come before a project's.
func (c *runCmd) usersPlugins(r *foreground) []plugin.Plugin {
	if c.NoPlugins {
		return nil
	}
	all, _ := plugin.NewCatalog(r.std.Env("HOME"), r.persistence(), "").User() // mistakes are named by the conversation
	return all
}

// askAgain asks about programs of the project as a new conversation does: its user may have allowed another content
// of the same files. Changes are added to ch, and MCP servers to servers. It returns the agent without the MCP servers of an
// earlier content, if the user allows the present one.
func (c *runCmd) askAgain(ctx context.Context, r *foreground, o runcommand.Options, conv *session.Conversation, chosen sandbox.Choice, ch *session.Changes, servers *schema.Map) (*spec.Agent, error) {
	agent, asked := conv.Agent(), conv.Asked()
	ch.Asked = &asked
	if chosen.Class.Inside != "" || c.Replay != "" && c.task.Text == "" {
		return agent, nil
	}
	p := c.project(r, o, ch.WorkingDir, c.AskMCP)
	p.Unsandboxed = chosen.Open()
	if asked.Servers && len(c.MCPConfig) == 0 {
		present, err := p.Servers(ctx)
		if err != nil {
			return nil, err
		}
		if present.Len() > 0 {
			if agent, err = runcommand.WithoutServers(agent, asked.Allowed); err != nil {
				return nil, err
			}
			for _, name := range present.Keys() {
				servers.Set(name, present.Get(name))
			}
			asked.Allowed = present.Keys()
		}
	}
	p.Again = c.AskHooks
	var err error
	if asked.Hooks && len(c.Hooks) == 0 {
		if ch.ProjectHooks, err = p.Hooks(ctx); err != nil {
			return nil, err
		}
	}
	ch.AllowedAgents, err = p.Agents(ctx, conv.Delegation().ProjectAgents(agent))
	return agent, err
}
