package session

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/workspace"
)

// Ready returns when the conversation's actions can run, or the reason why they
// cannot. A run need not wait for it.
func (c *Conversation) Ready(ctx context.Context) error {
	w, err := c.work(ctx)
	if err != nil {
		return err
	}
	return w.res.Ready(ctx)
}

// Isolation returns the level of isolation in which actions run, in the words
// of the sandbox's class; "" before it is known.
func (c *Conversation) Isolation() string {
	w := c.active.Load()
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
func (c *Conversation) Equipment(ctx context.Context) (Equipment, error) {
	w, err := c.work(ctx)
	if err != nil {
		return Equipment{}, err
	}
	if err := w.res.Ready(ctx); err != nil {
		return Equipment{}, err
	}
	tools, err := w.agent.Tools().Offered()
	return Equipment{Tools: tools, Skills: w.skills, Warnings: w.res.Warnings()}, err
}

// Terminals returns the pseudo terminals of the conversation's sandbox. They end with the
// sandbox; a caller that is connected to one keeps the
// conversation loaded with [Conversation.Watch]. Unsupported if the runtime has none.
func (c *Conversation) Terminals(ctx context.Context) (tool.PTYs, error) {
	w, err := c.work(ctx)
	if err != nil {
		return nil, err
	}
	if terminals := w.res.Terminals(); terminals != nil {
		return terminals, nil
	}
	return nil, fault.New(fault.Unsupported, "the runtime of this conversation has no terminals")
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
func (c *Conversation) RunProgram(ctx context.Context, p Program) (ProgramResult, error) {
	w, err := c.work(ctx)
	if err != nil {
		return ProgramResult{}, err
	}
	return w.res.RunProgram(ctx, p)
}

// WorkspaceInside reports whether the conversation's workspace is inside its sandbox,
// and not on this machine's disk.
func (c *configuration) WorkspaceInside() (bool, error) {
	return c.m.o.Builder.WorkspaceInside(c.Placement())
}

// Files opens the files of the conversation's workspace: on this machine, or through
// its sandbox, which is started. The error is of kind Invalid if a directory on this
// machine is gone, or another one than when the conversation was made.
func (c *Conversation) Files(ctx context.Context) (workspace.Files, error) {
	inside, err := c.WorkspaceInside()
	if err != nil {
		return nil, err
	}
	if inside {
		w, err := c.work(ctx)
		if err != nil {
			return nil, err
		}
		if files := w.res.Files(); files != nil {
			return shared{files}, nil
		}
		return nil, fault.New(fault.Unsupported, "the files of a workspace inside the sandbox cannot be reached")
	}
	c.mu.Lock()
	rec := c.rec
	c.mu.Unlock()
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

// addProject completes a request with the skills and agents of the project in a workspace
// inside the sandbox.
func (w *worker) addProject(a *spec.Agent) func(context.Context, workspace.Files, *BuildRequest) error {
	return func(ctx context.Context, files workspace.Files, r *BuildRequest) error {
		if r.TaskRuntime != nil {
			w.subAgents = w.c.Delegation().agents(a, w.c.m.o.SubAgents.Project(projectFS{ctx, files}, files.Path()))
			r.SubAgents = w.subAgents
		}
		if a.Context == nil || !a.Context.LoadProjectSkills {
			return nil
		}
		found, warnings, err := files.Skills(ctx)
		if err != nil {
			return err
		}
		if w.skills, err = w.loadSkills(a, func() ([]skill.Skill, []skill.Warning) { return found, warnings }); err != nil {
			return err
		}
		r.Skills, r.Prompt = w.skills, w.prompt(a)
		return nil
	}
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
