package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/server/agentserver/bash"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/agentserver/conversation"
	"github.com/deft-dev/deft/server/agentserver/files"
	"github.com/deft-dev/deft/server/agentserver/info"
	"github.com/deft-dev/deft/server/agentserver/mcp"
	settingsroutes "github.com/deft-dev/deft/server/agentserver/settings"
	"github.com/deft-dev/deft/server/agentserver/settings/llmlist"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/server/agentserver/vscode"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/spec"
)

// ScopedOptions configure a [Scoped]. All but Editor and Elsewhere are required.
type ScopedOptions struct {
	Sessions *session.Manager
	// Owner is whose sandbox it is.
	Owner identity.Tenant
	// Sandbox is its id, Scope are its conversations, one of Keys is sent by their clients.
	Sandbox string
	Scope   *session.Scope
	Keys    []string
	// Settings belong to the conversations' owner.
	Settings *settings.Service
	Builder  session.Builder
	Adapters Adapters
	// Dir is the directory of all conversations' data, BashDir the directory of the
	// events of the sandbox's shell commands.
	Dir, BashDir string
	// Workspace is the sandbox's directory on this machine, in which clients work in
	// Project. Locate returns the path on this machine of a path that a client names,
	// Inside its path for programs in the sandbox.
	Workspace, Project string
	Locate, Inside     func(path string) string
	// Elsewhere is set where the workspaces of conversations are inside their isolation.
	// Routes of files are then about the workspace of the newest conversation.
	Elsewhere bool
	// Editor is VS Code of the sandbox; nil for none.
	Editor vscode.Editor
	// Origin reports whether pages of an origin may use it beside its own, as in
	// [rest.Options]; nil for none. Other pages of this machine may not.
	Origin  func(origin string) bool
	Version string
	Uptime  func() (up, idle time.Duration)
	Log     *slog.Logger
}

// Scoped is the contract of an Agent Server for the conversations of one sandbox, served
// by a program that has many: the sessions and settings are the program's. Files and
// shell commands are confined to the sandbox's workspace. Routes that change the server
// itself (skills and plugins that are installed for all, POST /api/init) are not served.
type Scoped struct {
	v       *services
	details *info.Service
	table   *rest.Server
}

// NewScoped returns a handler that serves at once.
func NewScoped(o ScopedOptions) (*Scoped, error) {
	keys := func() []string { return o.Keys }
	v := &services{
		cfg:      &config.Loaded{Config: config.Default()},
		adapters: o.Adapters, backend: &Backend{Builder: o.Builder, Sandboxed: true}, log: o.Log,
		settings: o.Settings, scope: o.Scope,
	}
	v.sessions.Store(o.Sessions)
	v.cfg.ConversationsPath, v.cfg.WorkspacePath = o.Dir, o.Project
	v.conversations = conversation.New(conversation.Options{
		Sessions: o.Scope, Settings: o.Settings, CheckClientTool: clientToolCheck(o.Adapters), Keys: keys,
	})
	s := &Scoped{v: v}
	ws := workspacescope.Directory(o.Workspace)
	var err error
	if v.bash, err = bash.Open(bash.Options{
		Dir: o.BashDir, DefaultCwd: o.Project, Log: o.Log,
		Contains: func(dir string) bool { return ws.Contains(o.Locate(dir)) },
		Runner:   scopeRunner{o},
	}); err != nil {
		return nil, err
	}
	v.scopes = bash.NewScopes(bash.ScopeOptions{
		Options: bash.Options{Log: o.Log},
		Dir:     func(id string) string { return filepath.Join(o.Dir, id, "bash_events") },
		Runner:  func(scope workspacescope.Scope) bash.Runner { return sandboxRunner{v, scope.ID} },
	})
	v.sockets = socket.New(socket.Options{Find: sessionsOf(o.Scope), Bash: v.bash, Keys: keys, Log: o.Log})
	if s.details, err = info.New(info.Options{
		Uptime: o.Uptime, Ready: func() bool { return true },
		Version: o.Version, Tools: mcp.UsableNames(mcp.Catalogue()), Capabilities: capabilities, Runtime: config.RuntimeLocal,
	}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.table, err = rest.New(rest.Options{Caller: identity.InSandbox(o.Owner, o.Sandbox), Routes: s.routes(o), Keys: keys, SameOrigin: true, Origin: o.Origin, Log: o.Log}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// routes are the operations of a sandbox.
func (s *Scoped) routes(o ScopedOptions) []rest.Route {
	v := s.v
	of := workspacescope.WorkspaceOf(v.workspaceOf)
	ws := workspacescope.Directory(o.Workspace)
	f := files.New(files.Options{WorkspaceOf: of, Trajectory: o.trajectory, Home: o.Project})
	g := v.newGit(o.Settings)
	return slices.Concat(
		s.details.Routes(), v.conversations.Routes(), v.sockets.Routes(), settingsroutes.Routes(settingsroutes.Only(o.Settings), o.Log),
		llmlist.New(catalog.Default, o.Adapters.Providers()).Routes(),
		v.bash.Routes(), workspacescope.Locate(o.Inside, slices.Concat(v.scopes.Routes(of), f.ScopedRoutes(of), g.ScopedRoutes(of))),
		workspacescope.Confine(only(o, ws, of), o.Inside, slices.Concat(f.WorkspaceRoutes(), g.Routes())), f.ConversationRoutes(),
		v.newGateway().Routes(), mcp.New(mcp.Options{Probe: remoteOnly(o.Adapters.ProbeMCP), Tools: mcp.Catalogue()}).Routes(),
		canvasExtensions(), vscode.Routes(vscode.Options{Editor: o.Editor, Find: func(ctx context.Context, id string) error { _, err := of(ctx, id); return err }}),
	)
}

// ScopedRoutes returns the operations of a [Scoped], which cannot be called: a program that
// serves many tells by them which requests are for one.
func ScopedRoutes() []rest.Route {
	s := &Scoped{v: &services{adapters: noAdapters{}, conversations: &conversation.Service{}, sockets: &socket.Service{}}, details: &info.Service{}}
	return s.routes(ScopedOptions{Adapters: noAdapters{}})
}

// noAdapters are the adapters of routes that are never called.
type noAdapters struct{ Adapters }

func (noAdapters) Providers() []string { return nil }

func (noAdapters) Forges() forge.Opener { return nil }

func (noAdapters) ProbeMCP(context.Context, mcp.Probe) (mcp.Result, error) {
	return mcp.Result{}, errors.ErrUnsupported
}

// only returns the workspace of routes that name no conversation.
func only(o ScopedOptions, ws workspacescope.Workspace, of workspacescope.WorkspaceOf) workspacescope.WorkspaceOf {
	if !o.Elsewhere {
		return func(context.Context, string) (workspacescope.Workspace, error) { return ws, nil }
	}
	return func(ctx context.Context, _ string) (workspacescope.Workspace, error) {
		page, err := o.Scope.Infos(ctx, eventstream.ListQuery{Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(page.Infos) == 0 {
			return nil, fault.New(fault.Conflict, "the files of this sandbox are where its conversations work, and it has none").Hint("start a conversation first")
		}
		return of(ctx, page.Infos[0].ID.Hex())
	}
}

// remoteOnly refuses to test MCP servers that are programs: a test would run them beside
// the server instead of in the sandbox.
func remoteOnly(probe func(context.Context, mcp.Probe) (mcp.Result, error)) func(context.Context, mcp.Probe) (mcp.Result, error) {
	return func(ctx context.Context, p mcp.Probe) (mcp.Result, error) {
		var named struct {
			Command json.RawMessage `json:"command"`
		}
		if err := json.Unmarshal(p.Server, &named); err != nil {
			return mcp.Result{}, fault.Wrap(err, fault.Invalid, "read the MCP server")
		}
		if named.Command != nil {
			return mcp.Result{}, fault.New(fault.Denied, "an MCP server that is a program runs in sandboxes only").Hint("start a conversation with it")
		}
		return probe(ctx, p)
	}
}

// trajectory writes the files of a conversation of the sandbox.
func (o ScopedOptions) trajectory(ctx context.Context, id string, add files.AddFile) error {
	cid, ok := event.ParseConversationID(id)
	if !ok {
		return fault.New(fault.NotFound, "Conversation not found: "+id)
	}
	if _, err := o.Scope.Get(ctx, cid); err != nil {
		return err
	}
	return trajectory(ctx, o.Sessions.Store(), cid, add)
}

// ServeHTTP implements [http.Handler].
func (s *Scoped) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.table.ServeHTTP(w, r) }

// Close ends sockets and shell commands. The sessions are their owner's.
func (s *Scoped) Close() error {
	var errs []error
	if s.v.sockets != nil {
		s.v.sockets.Close()
	}
	errs = append(errs, s.v.scopes.Close(), s.v.bash.Close())
	if s.details != nil {
		errs = append(errs, s.details.Close())
	}
	return errors.Join(errs...)
}

// scopeRunner runs the shell commands of a sandbox's clients where its newest
// conversation works. Without one, each command gets an isolation of its own around the
// workspace, which ends with it.
type scopeRunner struct{ o ScopedOptions }

// Run implements [bash.Runner].
func (b scopeRunner) Run(ctx context.Context, j bash.Job) (int, error) {
	page, err := b.o.Scope.Infos(ctx, eventstream.ListQuery{Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(page.Infos) == 0 {
		return b.alone(ctx, j)
	}
	c, err := b.o.Scope.Get(ctx, page.Infos[0].ID)
	if err != nil {
		return 0, err
	}
	return runShell(ctx, c.Environment().RunProgram, j, b.o.Inside(j.Dir))
}

// alone runs a command without a conversation.
func (b scopeRunner) alone(ctx context.Context, j bash.Job) (code int, err error) {
	id := event.NewConversationID()
	res, err := b.o.Builder.Build(ctx, session.BuildRequest{
		ID: id, Owner: b.o.Owner, Workspace: b.o.Inside(b.o.Workspace), CheckWorkspace: func() error { return nil },
		Agent: &spec.Agent{SystemPromptFilename: "system_prompt.j2"}, Tasks: func() []event.TaskItem { return nil },
		Secret: func(context.Context, string) (string, bool) { return "", false },
	})
	if err != nil {
		return 0, err
	}
	defer func() {
		end := context.WithoutCancel(ctx)
		if left := errors.Join(res.Close(end, false), b.o.Builder.Remove(end, id)); left != nil {
			b.o.Log.Warn("what isolated a command could not be removed", "err", left)
		}
	}()
	if err := res.Ready(ctx); err != nil {
		return 0, err
	}
	return runShell(ctx, res.RunProgram, j, b.o.Inside(j.Dir))
}

// runShell runs a client's command as a program of a sandbox.
func runShell(ctx context.Context, run func(context.Context, session.Program) (session.ProgramResult, error), j bash.Job, dir string) (int, error) {
	got, err := run(ctx, session.Program{Argv: []string{"sh", "-c", j.Command}, Dir: dir, Seconds: commandLimit})
	if err != nil {
		if ctx.Err() != nil {
			return -1, context.Cause(ctx)
		}
		return 0, err
	}
	_, _ = io.WriteString(j.Stdout, got.Stdout) // neither fails
	_, _ = io.WriteString(j.Stderr, got.Stderr)
	return got.ExitCode, nil
}
