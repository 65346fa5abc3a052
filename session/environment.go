package session

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/workspace"
)

// Environment is the place where a conversation's actions run: a sandbox, or this machine.
type Environment struct{ c *Conversation }

// Environment returns the place where the conversation's actions run.
func (c *Conversation) Environment() Environment { return Environment{c} }

// Ready returns when the conversation's actions can run, or the reason why they
// cannot. A run need not wait for it.
func (e Environment) Ready(ctx context.Context) error {
	w, err := e.c.work(ctx)
	if err != nil {
		return err
	}
	return w.res.Ready(ctx)
}

// Isolation returns the level of isolation in which actions run, in the words
// of the sandbox's class; "" before it is known.
func (e Environment) Isolation() string {
	w := e.c.active.Load()
	if w == nil {
		return ""
	}
	return w.res.Isolation()
}

// Equipment is the equipment of a conversation's agent.
type Equipment struct {
	// Tools are as the model gets them, with the tools of MCP servers.
	Tools []tool.Offer
	// Skills are active or can become so, in their order.
	Skills []skill.Skill
	// Warnings name the parts that are not available.
	Warnings []string
}

// Equipment returns the equipment of the agent. It starts the conversation's worker if there is
// none: only then MCP servers and the project of a sandbox name their tools and skills.
func (e Environment) Equipment(ctx context.Context) (Equipment, error) {
	w, err := e.c.work(ctx)
	if err != nil {
		return Equipment{}, err
	}
	if err := w.res.Ready(ctx); err != nil {
		return Equipment{}, err
	}
	tools, err := w.agent.Tools().Offered()
	return Equipment{Tools: tools, Skills: w.skills, Warnings: w.warnings()}, err
}

// Prompts returns the prompts of the agent's MCP servers that a message can name, and what is not
// listed. It starts the conversation's worker if there is none, as [Environment.Equipment] does.
func (e Environment) Prompts(ctx context.Context) (offers []PromptOffer, warnings []string, err error) {
	w, err := e.c.work(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := w.res.Ready(ctx); err != nil {
		return nil, nil, err
	}
	if p, ok := w.res.(Prompter); ok {
		offers, warnings = p.Prompts(ctx)
	}
	return offers, warnings, nil
}

// Terminals returns the pseudo terminals of the conversation's sandbox. They end with the
// sandbox; a caller that is connected to one keeps the
// conversation loaded with [Conversation.Watch]. Unsupported if the runtime has none.
func (e Environment) Terminals(ctx context.Context) (tool.PTYs, error) {
	w, err := e.c.work(ctx)
	if err != nil {
		return nil, err
	}
	if terminals := w.res.Terminals(); terminals != nil {
		return terminals, nil
	}
	return nil, fault.New(fault.Unsupported, "the runtime of this conversation has no terminals")
}

// View connects a person to the live view of the browser, as [tool.Viewer]. A caller that is
// connected keeps the conversation loaded with [Conversation.Watch].
func (e Environment) View(ctx context.Context) (io.ReadWriteCloser, error) {
	w := e.c.active.Load()
	if w == nil {
		return nil, fault.New(fault.NotFound, "no browser is open in this conversation")
	}
	if v := w.res.Viewer(); v != nil {
		return v.View(ctx)
	}
	return nil, fault.New(fault.Unsupported, "the runtime of this conversation shows nothing live")
}

// SandboxRequest returns the part of a [BuildRequest] that the conversation's sandbox
// is made from: a terminal in it needs no model.
func (c *configuration) SandboxRequest() BuildRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return BuildRequest{
		ID: c.id, Owner: identity.Tenant(c.meta.Owner), Workspace: c.rec.Workspace.WorkingDir, CheckWorkspace: c.CheckWorkspace,
		Placement: c.rec.Placement, Secret: c.secrets.Value,
	}
}

// RunProgram runs a program where the conversation's actions run, beside its
// events.
func (e Environment) RunProgram(ctx context.Context, p Program) (ProgramResult, error) {
	w, err := e.c.work(ctx)
	if err != nil {
		return ProgramResult{}, err
	}
	return w.res.RunProgram(ctx, p)
}

// Linger sets how long the processes of the sandbox live after this process, until the
// conversation goes on.
func (e Environment) Linger(ctx context.Context, d time.Duration) error {
	w, err := e.c.work(ctx)
	if err != nil {
		return err
	}
	if l, ok := w.res.Runtime().(runtime.Lingering); ok {
		return l.Linger(ctx, d)
	}
	return fault.New(fault.Unsupported, "the runtime of this conversation keeps no processes")
}

// WorkspaceInside reports whether the conversation's workspace is inside its sandbox,
// and not on this machine's disk.
func (c *configuration) WorkspaceInside() (bool, error) {
	return c.m.o.Builder.WorkspaceInside(c.Placement())
}

// Files opens the files of the conversation's workspace: on this machine, or through
// its sandbox, which is started. The error is of kind Invalid if a directory on this
// machine is gone, or another one than when the conversation was made.
func (e Environment) Files(ctx context.Context) (workspace.Files, error) {
	inside, err := e.c.WorkspaceInside()
	if err != nil {
		return nil, err
	}
	if inside {
		w, err := e.c.work(ctx)
		if err != nil {
			return nil, err
		}
		if files := w.res.Files(); files != nil {
			return shared{files}, nil
		}
		return nil, fault.New(fault.Unsupported, "the files of a workspace inside the sandbox cannot be reached")
	}
	e.c.mu.Lock()
	rec := e.c.rec
	e.c.mu.Unlock()
	root, err := rec.Directory.Open(rec.Workspace.WorkingDir)
	if err != nil {
		return nil, err
	}
	return workspace.Below(root), nil
}

// shared are files that end with the conversation's resources.
type shared struct{ workspace.Files }

// Close implements [workspace.Files].
func (shared) Close() error { return nil }

// WorkspaceContains reports whether an absolute path is in the workspace, as far as that is
// known without its Files, which refuse other paths.
func (c *configuration) WorkspaceContains(path string) bool {
	if inside, err := c.WorkspaceInside(); err == nil && !inside {
		return realpath.Inside(c.Workspace(), path)
	}
	rel, err := filepath.Rel(c.Workspace(), path) // links exist in the sandbox only
	return err == nil && filepath.IsLocal(rel) && !strings.ContainsRune(path, 0)
}

// addProject completes a request with the skills, plugins and agents of the project in a workspace
// inside the sandbox.
func (w *worker) addProject(of *spec.Agent) func(context.Context, workspace.Files, *BuildRequest) error {
	return func(ctx context.Context, files workspace.Files, r *BuildRequest) error {
		a, project := of, projectFS{ctx, files}
		loads := a.Context != nil && a.Context.LoadProjectSkills
		if loads {
			var err error
			if a, err = w.addSkillsInside(ctx, a, project); err != nil {
				return err
			}
		}
		if r.TaskRuntime != nil {
			inside, failed := w.c.m.o.SubAgents.Project(project, files.Path())
			if err := w.openSubAgents(ctx, a, inside, failed); err != nil {
				return err
			}
			r.SubAgents = w.subAgents
		}
		w.openProjectHooks(ctx, project)
		w.loadMemory(ctx, a, files)
		if loads {
			r.Agent, r.Skills = a, w.skills
		}
		r.Prompt = w.prompt(a)
		return nil
	}
}

// addSkillsInside loads the skills of a project inside the sandbox, and of its plugins. It returns the agent
// with their MCP servers.
func (w *worker) addSkillsInside(ctx context.Context, a *spec.Agent, project projectFS) (*spec.Agent, error) {
	found, warnings, err := project.files.Skills(ctx)
	if err != nil {
		return nil, err
	}
	if w.host == nil && a.Kind != spec.ACPKind { // a sub-agent has them of its host
		if a, w.plugins, err = w.c.ProjectHooks().addPluginsInside(ctx, a, w.plugins, project); err != nil {
			return nil, err
		}
		w.parts = w.plugins.project.parts
		w.c.mu.Lock()
		config, err := w.c.rec.hooks()
		w.c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		w.hooks.Use(hook.Merge(config, w.plugins.hooks))
	}
	w.skills, err = w.loadSkills(a, func() ([]skill.Skill, []skill.Warning) {
		more, problems := w.projectsPlugins()
		return skill.Merge(found, more), append(warnings, problems...)
	})
	if err != nil {
		return nil, err
	}
	return w.withSkillServers(a)
}

// projectFS are the files of a workspace as an fs.FS, relative to it.
type projectFS struct {
	ctx   context.Context
	files workspace.Files
}

// Open implements [fs.FS].
func (p projectFS) Open(name string) (fs.File, error) { return p.files.Open(p.ctx, name) }

// Stat implements [fs.StatFS].
func (p projectFS) Stat(name string) (fs.FileInfo, error) { return p.files.Stat(p.ctx, name) }

// ReadDir implements [fs.ReadDirFS].
func (p projectFS) ReadDir(name string) ([]fs.DirEntry, error) {
	infos, err := p.files.List(p.ctx, name)
	entries := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, err
}
