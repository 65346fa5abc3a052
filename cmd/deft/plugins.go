package main

import (
	"context"

	"github.com/deft-dev/deft/cli/plugins"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/session"
)

// pluginWiring is where the user's plugins are.
func pluginWiring(std *streams) plugins.Wiring {
	return plugins.Wiring{
		Home: std.Env("HOME"), Persistence: func() (string, error) { return config.PersistenceDir(std.Env) },
		Registry: func(ctx context.Context) (plugins.Registry, error) { return openSettings(ctx, std) },
	}
}

// addPlugins adds the plugins of the project, and of --plugin, to a new conversation, and the user's yes to its set-up and
// to programs of its agents. inside says that its sandbox does not see this machine's files.
func (c *runCmd) addPlugins(ctx context.Context, r *foreground, o runcommand.Options, inside bool, s *session.Spec) error {
	if s.SetUp = c.SetUp; !c.SetUp && !inside && (c.Replay == "" || c.task.Text != "") {
		var err error
		if s.SetUp, err = c.project(r, o, s.Workspace.WorkingDir, c.AskHooks).SetUp(ctx); err != nil {
			return err
		}
	}
	copies := plugin.NamedDir(r.pluginCopies())
	if !inside && (c.Replay == "" || c.task.Text != "") {
		ofProject, err := c.project(r, o, s.Workspace.WorkingDir, c.AskHooks).Plugins(ctx, copies, func() []plugin.Plugin { return c.usersPlugins(r) })
		if err == nil {
			err = s.AddPlugins(ofProject)
		}
		if err != nil {
			return err
		}
	}
	if err := c.addNamed(ctx, inside, copies, s); err != nil || inside || c.Replay != "" && c.task.Text == "" {
		return err
	}
	var err error
	s.AllowedAgents, err = c.project(r, o, s.Workspace.WorkingDir, c.AskHooks).Agents(ctx, c.projectAgents(r, s))
	return err
}

// addNamed adds the plugins of --plugin to a new conversation.
func (c *runCmd) addNamed(ctx context.Context, inside bool, copies string, s *session.Spec) error {
	if len(c.Plugin) == 0 {
		return nil
	}
	loader := plugin.Loader{Cache: copies, Local: func(context.Context) bool { return true }}
	if inside {
		loader.Cache = ""
	}
	sources := make([]plugin.Source, len(c.Plugin))
	for i, from := range c.Plugin {
		sources[i].Source = from
	}
	loaded, err := loader.Load(ctx, sources)
	if err != nil {
		return err
	}
	return s.AddPlugins(loaded)
}
