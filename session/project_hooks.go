package session

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"reflect"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/permission"
)

// Permissions are what users have answered about files of projects that name programs.
type Permissions interface {
	// Answer returns what an owner has answered about a file with this content.
	Answer(ctx context.Context, owner identity.Tenant, q permission.Question) (permission.Answer, error)
	// KeepAnswer keeps an answer for the owner's other conversations.
	KeepAnswer(ctx context.Context, owner identity.Tenant, q permission.Question, a permission.Answer) error
}

// ProjectHooks is about the hooks that the project of a conversation names in a file. The
// project may be a stranger's: they run once the owner has allowed the content of the file.
type ProjectHooks struct{ c *Conversation }

// ProjectHooks returns the question about the project's hooks, and takes the answer.
func (c *Conversation) ProjectHooks() ProjectHooks { return ProjectHooks{c} }

// HooksFile describes the file of a project's hooks to the owner.
type HooksFile struct {
	File string `json:"file"`
	// SHA256 names the content, for the answer; "" where there is no file.
	SHA256 string `json:"sha256"`
	// Hooks are the hooks of the file; nil for none.
	Hooks *hook.Config `json:"hook_config"`
	// Problem says why the file cannot be used.
	Problem string `json:"problem,omitempty"`
	// Answer is the owner's about this content.
	Answer permission.Answer `json:"answer"`
	// Unsandboxed says that hooks run without a sandbox, as the agent's commands do.
	Unsandboxed bool `json:"unsandboxed,omitempty"`

	raw []byte
}

// allowedHooks are the hooks of the project that the owner has allowed. They stay when the
// agent changes or removes the file.
type allowedHooks struct {
	SHA256 string          `json:"sha256"`
	Config json.RawMessage `json:"hook_config"`
}

// AllowedHooks are hooks of a project's file that the user has allowed, for a Manager without
// Permissions.
type AllowedHooks struct {
	// SHA256 names the content of the file.
	SHA256 string
	Hooks  *hook.Config // nil for none
}

// recorded returns the hooks as they are stored.
func (a *AllowedHooks) recorded() (*allowedHooks, error) {
	if a == nil || a.Hooks == nil {
		return nil, nil
	}
	config, err := json.Marshal(a.Hooks)
	return &allowedHooks{a.SHA256, config}, err
}

// hooks returns the hooks of a conversation: those it was made with, and behind them the
// project's.
func (r *record) hooks() (*hook.Config, error) {
	own, err := hook.Parse(rawjson.Or(r.HookConfig, null))
	if err != nil || r.ProjectHooks == nil {
		return own, err
	}
	project, err := hook.Parse(r.ProjectHooks.Config)
	if err != nil {
		return nil, err
	}
	return hook.Merge(own, without(project, own)), nil
}

// without returns the hooks of a configuration that another one does not have: a client may
// have sent the project's hooks itself.
func without(c, has *hook.Config) *hook.Config {
	if c == nil || has == nil {
		return c
	}
	out := &hook.Config{}
	for _, event := range hook.Events {
		for _, m := range c.Matchers(event) {
			if !slices.ContainsFunc(has.Matchers(event), func(own hook.Matcher) bool { return reflect.DeepEqual(own, m) }) {
				out.Add(event, m)
			}
		}
	}
	return out
}

// read reads the file as it is now, and what the owner has answered about it.
func (p ProjectHooks) read(ctx context.Context, project fs.FS) (f HooksFile, err error) {
	f = HooksFile{File: hook.ProjectFile, Unsandboxed: p.c.m.o.Unsandboxed}
	if f.raw, err = hook.ReadFile(project, hook.ProjectFile); err != nil {
		if !fault.Is(err, fault.Invalid) {
			return f, err
		}
		f.Problem = err.Error()
		return f, nil
	}
	if f.raw == nil {
		if file, why := hook.NotRun(project); file != "" {
			f.File, f.Problem = file, why
		}
		return f, nil
	}
	f.SHA256 = permission.Sum(f.raw)
	if f.Hooks, f.Problem = usable(f.raw); f.Hooks == nil {
		return f, nil
	}
	f.Answer, err = p.c.m.o.Permissions.Answer(ctx, p.c.Owner(), p.question(f.raw))
	return f, err
}

// usable returns the hooks of a file, nil for none, or why it cannot be used.
func usable(raw []byte) (c *hook.Config, problem string) {
	c, err := hook.Parse(raw)
	if err != nil {
		return nil, schema.Located(err).Error()
	}
	return hook.Merge(c), ""
}

func (p ProjectHooks) question(raw []byte) permission.Question {
	return p.questionAbout(hook.ProjectFile, raw)
}

func (p ProjectHooks) questionAbout(file string, content []byte) permission.Question {
	return permission.Question{Project: p.c.project(), File: file, Content: content, Unsandboxed: p.c.m.o.Unsandboxed}
}

// project names the project of the conversation: the same for others that work on it.
func (c *configuration) project() string {
	inside, err := c.WorkspaceInside()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.rec.Repository.Name != "":
		return "repository " + c.rec.Repository.Name
	case c.rec.Origin != "":
		return c.rec.Origin
	case err != nil || inside: // the directory is the same in all sandboxes
		return "conversation " + string(c.id)
	}
	return c.rec.Workspace.WorkingDir
}

// errNoProjectHooks is returned where the program that runs the conversation chooses the hooks.
var errNoProjectHooks = fault.New(fault.Unsupported, "the hooks of projects are not looked for here")

// File returns the file as it is now.
func (p ProjectHooks) File(ctx context.Context) (HooksFile, error) {
	if p.c.m.o.Permissions == nil {
		return HooksFile{}, errNoProjectHooks
	}
	files, err := p.c.Environment().Files(ctx)
	if err != nil {
		return HooksFile{}, err
	}
	defer files.Close()
	return p.read(ctx, projectFS{ctx, files})
}

// InForce returns the hooks that run in the conversation; nil for none.
func (p ProjectHooks) InForce() (*hook.Config, error) {
	p.c.mu.Lock()
	rec := p.c.rec
	p.c.mu.Unlock()
	all, err := rec.hooks()
	if w := p.c.active.Load(); w != nil && err == nil {
		all = hook.Merge(all, w.plugins.hooks)
	}
	return all, err
}

// Review looks at the file again, before the conversation goes on: hooks that the owner has
// allowed are taken, and others are asked about.
func (p ProjectHooks) Review(ctx context.Context) error {
	if p.c.m.o.Permissions == nil {
		return nil
	}
	return p.c.withWorker(ctx, func(w *worker) error {
		f, err := p.File(ctx)
		if err != nil {
			return err
		}
		if err := w.takeHooks(ctx, f); err != nil {
			return err
		}
		w.recordWarnings(ctx)
		return w.tellHooks(ctx, f)
	})
}

// Answer answers the question about the content with a hash. The answer is kept for other
// conversations, and takes effect in this one at once. Conflict if the file has another
// content by now, Invalid if it cannot be used.
func (p ProjectHooks) Answer(ctx context.Context, sha256 string, allow bool) error {
	if p.c.m.o.Permissions == nil {
		return errNoProjectHooks
	}
	return p.c.withWorker(ctx, func(w *worker) error {
		f, err := p.File(ctx)
		if err != nil {
			return err
		}
		switch {
		case f.SHA256 != sha256:
			return fault.New(fault.Conflict, "the project's "+f.File+" has changed since the question").Hint("read it again, and answer then")
		case f.Problem != "":
			return fault.New(fault.Invalid, "the project's "+f.File+" cannot be used: "+f.Problem)
		case f.Hooks == nil:
			return fault.New(fault.Invalid, "the project has no hooks")
		}
		f.Answer = permission.Refused
		if allow {
			f.Answer = permission.Allowed
		}
		if err := p.c.m.o.Permissions.KeepAnswer(ctx, p.c.Owner(), p.question(f.raw), f.Answer); err != nil {
			return err
		}
		if err := w.takeHooks(ctx, f); err != nil {
			return err
		}
		w.recordWarnings(ctx)
		return w.tellHooks(ctx, f)
	})
}

// takeHooks has the conversation run the hooks of a file that the owner has allowed, and no more
// hooks of the project if he has refused. Without an answer those of an earlier content stay.
func (w *worker) takeHooks(ctx context.Context, f HooksFile) error {
	var taken *allowedHooks
	switch f.Answer {
	case permission.None:
		return nil
	case permission.Allowed:
		config, err := json.Marshal(f.Hooks)
		if err != nil {
			return err
		}
		taken = &allowedHooks{f.SHA256, config}
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	before := w.c.rec.ProjectHooks
	if before == nil && taken == nil || before != nil && taken != nil && before.SHA256 == taken.SHA256 {
		return nil
	}
	w.c.rec.ProjectHooks = taken
	config, err := w.c.rec.hooks()
	if err == nil {
		err = w.c.save(ctx)
	}
	if err != nil {
		w.c.rec.ProjectHooks = before
		return err
	}
	w.hooks.Use(hook.Merge(config, w.plugins.hooks))
	return nil
}

// tellHooks records the file and its answer, so that clients can ask the owner.
func (w *worker) tellHooks(ctx context.Context, f HooksFile) error {
	if f.Hooks == nil && f.Problem == "" {
		return nil
	}
	f.Problem = w.c.secrets.Mask(f.Problem)
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if bytes.Equal(raw, w.State().Fields[keyHooks]) {
		return nil
	}
	return w.Update(ctx, keyHooks, json.RawMessage(raw))
}

// openProjectHooks looks at the project's file for a worker that starts. A file that cannot be
// read keeps no conversation from working: the owner sees why.
func (w *worker) openProjectHooks(ctx context.Context, project fs.FS) {
	if w.c.m.o.Permissions == nil || w.host != nil {
		return
	}
	f, err := w.c.ProjectHooks().read(ctx, project)
	if err == nil {
		err = w.takeHooks(ctx, f)
	}
	if err != nil {
		f.Problem, f.Hooks = err.Error(), nil
		w.c.m.o.Log.Warn("read the project's hooks", "conversation", w.c.id, "err", err)
	}
	w.hooks.file = f
}

// openProjectHooksHere is openProjectHooks for a workspace of this machine.
func (w *worker) openProjectHooksHere(ctx context.Context) {
	if w.c.m.o.Permissions == nil || w.host != nil {
		return
	}
	files, err := w.c.Environment().Files(ctx)
	if err != nil { // the directory is gone, which the first action says
		return
	}
	defer files.Close()
	w.openProjectHooks(ctx, projectFS{ctx, files})
}
