package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/settings/permission"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// ProjectPart describes a part of a project that runs programs to the owner: a plugin, or the
// definition of an agent. Its hooks and MCP servers run once the owner has allowed them.
type ProjectPart struct {
	// File is its path in the project.
	File string `json:"file"`
	// SHA256 names the content, for the answer.
	SHA256 string `json:"sha256"`
	// Runs are the hooks and MCP servers, a line each.
	Runs []string `json:"runs"`
	// Answer is the owner's about this content.
	Answer permission.Answer `json:"answer"`
	// Unsandboxed says that they run without a sandbox, as the agent's commands do.
	Unsandboxed bool `json:"unsandboxed,omitempty"`

	content []byte
}

// part returns a part with the owner's answer about it.
func (p ProjectHooks) part(ctx context.Context, file string, runs []string, content []byte) (ProjectPart, error) {
	one := ProjectPart{File: file, SHA256: permission.Sum(content), Runs: runs, Unsandboxed: p.c.m.o.Unsandboxed, content: content}
	for i, line := range runs {
		one.Runs[i] = p.c.secrets.Mask(line)
	}
	var err error
	one.Answer, err = p.c.m.o.Permissions.Answer(ctx, p.c.Owner(), p.questionAbout(one.File, one.content))
	return one, err
}

// projectPlugins are the plugins of a project on this machine. Allowed plugins are read from
// copies that agents cannot change.
type projectPlugins struct {
	all      []plugin.Plugin
	warnings []skill.Warning
	parts    []ProjectPart
}

// addPlugins adds the hooks and MCP servers of the project's plugins to an agent, if the owner has
// allowed them.
func (p ProjectHooks) addPlugins(ctx context.Context, a *spec.Agent, out plugins) (*spec.Agent, plugins) {
	if inside, err := p.c.WorkspaceInside(); err != nil || inside || a.Context == nil || !a.Context.LoadProjectSkills {
		return a, out // those inside are read when the sandbox runs
	}
	dir := p.c.Workspace()
	var all []plugin.Plugin
	all, out.project.warnings = plugin.Project(dir)
	return p.takePlugins(ctx, a, out, all, func(of plugin.Plugin) (plugin.Plugin, ProjectPart, error) {
		return p.allowedPlugin(ctx, of, dir)
	})
}

// addPluginsInside is addPlugins for a workspace inside the sandbox.
func (p ProjectHooks) addPluginsInside(ctx context.Context, a *spec.Agent, out plugins, project projectFS) (*spec.Agent, plugins, error) {
	dir := project.files.Path()
	found, warnings, err := plugin.ProjectInside(project, dir)
	if err != nil {
		return nil, out, err
	}
	out.project.warnings = warnings
	all, sums := make([]plugin.Plugin, len(found)), map[string][sha256.Size]byte{}
	for i, one := range found {
		all[i], sums[one.Name] = one.Plugin, one.Sum
	}
	a, out = p.takePlugins(ctx, a, out, all, func(of plugin.Plugin) (plugin.Plugin, ProjectPart, error) {
		if p.c.m.o.Permissions == nil {
			return of, ProjectPart{}, nil
		}
		part, err := p.pluginPart(ctx, of, dir, sums[of.Name])
		return of, part, err
	})
	return a, out, nil
}

// takePlugins adds plugins of the project. allowed returns one as it is used, with the question about it.
func (p ProjectHooks) takePlugins(ctx context.Context, a *spec.Agent, out plugins, all []plugin.Plugin, allowed func(plugin.Plugin) (plugin.Plugin, ProjectPart, error)) (*spec.Agent, plugins) {
	p.c.mu.Lock()
	named := p.c.rec.Plugins
	p.c.mu.Unlock()
	for _, p := range all {
		warn := func(why string) {
			out.project.warnings = append(out.project.warnings, skill.Warning{Path: p.Path, Err: errors.New(why)})
		}
		if slices.ContainsFunc(out.all, func(o plugin.Plugin) bool { return o.Name == p.Name }) {
			warn("you have a plugin of the name " + p.Name + ", which is used")
			continue
		}
		switch {
		case len(p.Runs()) == 0:
		case slices.Contains(named, p.Name): // the conversation was made with its parts
			p = withoutPrograms(p)
		default:
			used, part, err := allowed(p)
			if part.File != "" {
				out.project.parts = append(out.project.parts, part)
			}
			if err == nil && part.Answer == permission.Allowed {
				var added plugin.Added
				added, err = plugin.AddTo(a, []plugin.Plugin{{Name: used.Name, Path: used.Path, Servers: used.Servers, Hooks: used.Hooks}})
				if err == nil {
					p, a, out.hooks = used, added.Agent, hook.Merge(out.hooks, added.Hooks)
					break
				}
			}
			p = withoutPrograms(p)
			if err != nil {
				warn("its hooks and MCP servers do not run: " + fault.Text(err))
			} else {
				warn("its hooks and MCP servers do not run, because nobody has allowed them")
			}
		}
		out.project.all = append(out.project.all, p)
	}
	return a, out
}

// withoutPrograms returns a plugin without its hooks and MCP servers.
func withoutPrograms(p plugin.Plugin) plugin.Plugin {
	p.Hooks, p.Servers, p.Agents = nil, nil, slices.Clone(p.Agents)
	for i := range p.Agents {
		p.Agents[i].Hooks, p.Agents[i].Servers = nil, nil
	}
	return p
}

// allowedPlugin returns a plugin of the project with the owner's answer, and if that is a yes from a copy.
// Copies are shown in sandboxes of this machine's user only: for others the parts that need files are left out.
func (p ProjectHooks) allowedPlugin(ctx context.Context, of plugin.Plugin, project string) (plugin.Plugin, ProjectPart, error) {
	c := p.c
	if c.m.o.Permissions == nil {
		return of, ProjectPart{}, nil
	}
	sum, err := of.Sum()
	if err != nil {
		return of, ProjectPart{}, err
	}
	part, err := p.pluginPart(ctx, of, project, sum)
	if err != nil || part.Answer != permission.Allowed {
		return of, part, err
	}
	if c.Owner() == identity.LocalTenant {
		of, err = c.m.o.Plugins.Keep(of, sum)
		return of, part, err
	}
	kept, err := of.Keep("", sum)
	if err == nil {
		kept.Detach(kept.Path)
	}
	return kept, part, err
}

// pluginPart is the question about a plugin with this sum.
func (p ProjectHooks) pluginPart(ctx context.Context, of plugin.Plugin, project string, sum [sha256.Size]byte) (ProjectPart, error) {
	file, err := filepath.Rel(project, of.Path)
	if err != nil || !filepath.IsLocal(file) { // of the repository's root
		file = of.Path
	}
	return p.part(ctx, file, of.Runs(), []byte(strings.Join(append(of.Runs(), hex.EncodeToString(sum[:])), "\n")))
}

// projectsPlugins returns the skills and commands of the project's plugins, and gives the worker their agents.
func (w *worker) projectsPlugins() (found []skill.Skill, warnings []skill.Warning) {
	warnings = w.plugins.project.warnings
	for _, p := range w.plugins.project.all {
		found, warnings = append(found, slices.Concat(p.Skills, p.Commands)...), append(warnings, p.Warnings...)
		w.plugins.agents = append(w.plugins.agents, p.Agents...)
	}
	return found, warnings
}

// openSubAgents finds the agents to which the worker's agent can give tasks. inside are the definitions of a
// project inside the sandbox, and failed its files that are none. Hooks and MCP servers of the project's run once the owner has allowed them.
func (w *worker) openSubAgents(ctx context.Context, a *spec.Agent, inside []subagent.Definition, failed []skill.Warning) error {
	all, more := w.c.Delegation().agents(a, w.plugins.agents, inside)
	w.subAgents, w.agentsLeftOut = all, skill.LeftOut(append(failed, more...))
	w.parts = slices.Clone(w.plugins.project.parts)
	w.c.mu.Lock()
	given := w.c.rec.AllowedAgents
	w.c.mu.Unlock()
	for i, d := range w.subAgents {
		if !foreign(d) || len(d.Runs()) == 0 {
			continue
		}
		content, err := d.Programs()
		if err != nil {
			return err
		}
		if w.c.m.o.Permissions == nil {
			if slices.Contains(given, permission.Sum(content)) {
				w.subAgents[i].Level = nil
			}
			continue
		}
		part, err := w.c.ProjectHooks().part(ctx, d.File(w.c.Workspace()), d.Runs(), content)
		if err != nil {
			return err
		}
		w.parts = append(w.parts, part)
		if part.Answer == permission.Allowed {
			w.subAgents[i].Level = nil
		}
	}
	return nil
}

// Parts returns the parts of the project that run programs with their answers, as the conversation at work has
// found them; nil for one that is not at work.
func (p ProjectHooks) Parts() (all []ProjectPart) {
	if w := p.c.active.Load(); w != nil && len(w.parts) > 0 {
		w.Latest().Field(keyParts, &all)
	}
	return all
}

// AnswerPart answers the question about a part with a hash. The answer is kept for other conversations; in this
// one it takes effect with the next message or run. NotFound for a part that there is not, Conflict if it has
// another content by now.
func (p ProjectHooks) AnswerPart(ctx context.Context, file, sha256 string, allow bool) error {
	if p.c.m.o.Permissions == nil {
		return errNoProjectHooks
	}
	return p.c.withWorker(ctx, func(w *worker) error {
		i := slices.IndexFunc(w.parts, func(one ProjectPart) bool { return one.File == file })
		switch {
		case i < 0:
			return fault.New(fault.NotFound, "the project has no "+file+" that runs programs")
		case w.parts[i].SHA256 != sha256:
			return fault.New(fault.Conflict, "the project's "+file+" has changed since the question").Hint("read it again, and answer then")
		}
		answer := permission.Refused
		if allow {
			answer = permission.Allowed
		}
		if err := p.c.m.o.Permissions.KeepAnswer(ctx, p.c.Owner(), p.questionAbout(file, w.parts[i].content), answer); err != nil {
			return err
		}
		w.outdated.Store(true)
		parts := slices.Clone(w.parts)
		parts[i].Answer = answer
		return w.tellParts(ctx, parts)
	})
}

// tellParts records the parts and their answers, so that clients can ask the owner.
func (w *worker) tellParts(ctx context.Context, parts []ProjectPart) error {
	if len(parts) == 0 {
		return nil
	}
	raw, err := json.Marshal(parts)
	if err != nil || bytes.Equal(raw, w.State().Fields[keyParts]) {
		return err
	}
	if err := w.Update(ctx, keyParts, json.RawMessage(raw)); err != nil {
		return fmt.Errorf("record the parts of the project: %w", err)
	}
	return nil
}
