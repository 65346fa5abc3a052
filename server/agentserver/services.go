package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/agentserver/acpmodels"
	"github.com/deft-dev/deft/server/agentserver/bash"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/agentserver/conversation"
	"github.com/deft-dev/deft/server/agentserver/files"
	"github.com/deft-dev/deft/server/agentserver/mcp"
	"github.com/deft-dev/deft/server/agentserver/plugins"
	"github.com/deft-dev/deft/server/agentserver/project"
	settingsroutes "github.com/deft-dev/deft/server/agentserver/settings"
	"github.com/deft-dev/deft/server/agentserver/settings/llmlist"
	"github.com/deft-dev/deft/server/agentserver/skills"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/server/agentserver/vscode"
	"github.com/deft-dev/deft/server/agentserver/webhook"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/workspaces"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
	"github.com/deft-dev/deft/workspace"
)

// services are the parts of an agent server that is configured.
type services struct {
	cfg      *config.Loaded
	adapters Adapters
	backend  *Backend
	log      *slog.Logger
	url      string // where this machine reaches the server
	home     string
	ring     *keyring.Ring

	webhooks      *webhook.Service
	settings      *settings.Service
	logins        *mcplogin.Jobs
	skills        *skills.Service
	sessions      atomic.Pointer[session.Manager] // webhooks ask early
	scope         *session.Scope                  // their part for clients
	conversations *conversation.Service
	bash          *bash.Service
	scopes        *bash.Scopes
	sockets       *socket.Service
	vscode        *vscode.Server // nil where it is switched off
	tasks         tasks
}

// openServices opens the parts of a server.
func openServices(ctx context.Context, cfg *config.Loaded, adapters Adapters, addr net.Addr, log *slog.Logger) (_ *services, err error) {
	s := &services{cfg: cfg, adapters: adapters, log: log, url: config.InternalURL(addr)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	s.home, _ = os.UserHomeDir() // a user without one has no skills of his own
	if s.ring, err = cfg.Ring(); err != nil {
		return nil, err
	}
	if s.backend, err = adapters.Open(ctx, cfg); err != nil {
		return nil, err
	}
	for _, open := range []func(context.Context) error{
		s.openWebhooks, s.openSettings, s.openSessions, s.openBash, s.openSockets, s.openVSCode,
	} {
		if err := open(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *services) openWebhooks(context.Context) error {
	if len(s.cfg.Webhooks) == 0 {
		return nil
	}
	cursors, err := webhook.OpenFile(filepath.Join(s.cfg.ConversationsPath, "webhooks.json"))
	if err != nil {
		return err
	}
	s.webhooks, err = webhook.New(webhook.Options{
		Endpoints: s.cfg.Webhooks, Stream: s.backend.Store, Cursors: cursors, Log: s.log,
		Describe: s.describe,
		Key: func() string {
			if keys := s.cfg.Keys(); len(keys) > 0 {
				return keys[0]
			}
			return ""
		},
	})
	return err
}

// describe returns the description of a conversation, once they are open.
func (s *services) describe(ctx context.Context, id event.ConversationID) (json.RawMessage, error) {
	if m := s.sessions.Load(); m != nil {
		return m.Summary(ctx, id)
	}
	return nil, fault.New(fault.Unavailable, "the conversations are not open yet")
}

func (s *services) openSettings(ctx context.Context) (err error) {
	s.logins = mcplogin.New()
	markets, err := registrations(s.cfg.RegisteredMarketplaces)
	if err != nil {
		return err
	}
	s.skills = skills.New(skills.Options{
		Home: s.home, Persistence: s.cfg.PersistenceDir, Public: os.Getenv("EXTENSIONS_PATH"), Log: s.log, CheckProject: s.checkProject,
		Plugins: s.pluginLoader(), Marketplaces: markets,
	})
	s.settings, err = settings.Open(ctx, settings.Options{
		Dir: s.cfg.PersistenceDir, Keys: s.ring, Ping: Pinger(s.adapters), Log: s.log, Usable: UsableTool, NoBrowser: !s.cfg.EnableBrowser,
		Skills: s.skills.ProfileSkills, PublicSkills: s.skills.PublicNames,
	})
	return err
}

// registrations reads the marketplaces of the configuration.
func registrations(of []config.Marketplace) ([]plugin.Registration, error) {
	all := make([]json.RawMessage, len(of))
	for i, m := range of {
		raw, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		all[i] = raw
	}
	return plugin.ReadRegistrations(all)
}

// pluginLoader loads the plugins of conversations. Who may use the whole server may name
// directories of this machine, where conversations work on it.
func (s *services) pluginLoader() plugin.Loader {
	l := plugin.Loader{Local: func(ctx context.Context) bool {
		return identity.CallerOf(ctx).May(rest.Account) && s.checkProject("") == nil
	}}
	if !s.backend.Sandboxed {
		l.Cache = filepath.Join(s.cfg.PersistenceDir, "cache", "plugins")
	} else if inside, err := s.backend.Builder.WorkspaceInside(session.Placement{}); err == nil && !inside {
		l.Cache = plugin.NamedDir(plugin.CopiesDir(s.home, os.Getenv))
	}
	return l
}

// Pinger returns a function that makes a short call to a model. A name without a known
// provider is sent to the LLM's own server; if that cannot be reached, the name is the
// mistake, as LiteLLM says before any request.
func Pinger(a Adapters) func(context.Context, *spec.LLM) error {
	return func(ctx context.Context, l *spec.LLM) error {
		err := spec.Pinger(a.NewModel)(ctx, l)
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Unreached && !knownModel(a, l.Model) {
			return fault.Wrap(err, fault.Invalid, "the provider of model "+l.Model+" is not known")
		}
		return err
	}
}

// MCPProber returns a function that asks an MCP server, an entry of mcp_config with its secrets
// in the clear, for the names of its tools. Denied for one that is a program.
func MCPProber(a Adapters) func(ctx context.Context, name string, server json.RawMessage, limit time.Duration, logins mcplogin.Logins) ([]string, error) {
	return func(ctx context.Context, name string, server json.RawMessage, limit time.Duration, logins mcplogin.Logins) ([]string, error) {
		got, err := remoteOnly(a.ProbeMCP)(ctx, mcp.Probe{Name: name, Server: server, Limit: limit, Logins: logins})
		return got.Tools, err
	}
}

func knownModel(a Adapters, name string) bool {
	prefix, _, ok := strings.Cut(name, "/")
	if !ok {
		_, ok = catalog.Default().Lookup(name)
		return ok
	}
	return slices.Contains(a.Providers(), strings.ToLower(prefix)+"/")
}

// subAgents are the agents to which agents can give tasks.
func (s *services) subAgents() subagent.Catalog {
	return subagent.NewCatalog(s.home, s.cfg.PersistenceDir)
}

func (s *services) openSessions(context.Context) error {
	owners := settings.OneOwner(s.settings, s.url, s.log)
	o := session.Options{
		Store: s.backend.Store, Lock: s.backend.Lock, Dir: s.cfg.ConversationsPath, Ring: s.ring, Log: s.log,
		Settings: owners, Permissions: owners, Memories: owners, Unsandboxed: !s.backend.Sandboxed, Models: s.backend.Models, Builder: cleaningBuilder{s.backend.Builder, s}, View: view.OpenHands{},
		Files: directories{
			session.Worktrees{
				PlainDirectories: session.PlainDirectories{Skills: skill.NewCatalog(s.home, s.cfg.PersistenceDir, os.Getenv("EXTENSIONS_PATH"))},
				Root:             s.cfg.ConversationWorktreeRoot,
			},
			workspacedir.Rules{Home: s.home, Data: s.cfg.Data()}, s.log,
		},
		Plugins:   plugin.NewCatalog(s.home, s.cfg.PersistenceDir, plugin.CopiesDir(s.home, os.Getenv)),
		SubAgents: s.subAgents(), BaseURL: s.url, MaxRuns: s.cfg.MaxConcurrentRuns, IdleTTL: -1,
	}
	if when := s.cfg.Checkpoints; when != session.CheckpointsOff && checkpoint.Available() {
		dir := filepath.Join(s.cfg.ConversationsPath, "checkpoints") // where deft undo looks
		o.Checkpoints, o.CheckpointTimes = checkpoint.New(checkpoint.Options{Dir: dir, Exclude: s.cfg.Data()}), when
	}
	if s.webhooks != nil {
		o.Store, o.Observer = s.webhooks.Stream(), webhookObserver{s.webhooks} // they see appended events
	}
	if ttl := s.cfg.ConversationIdleTTLSeconds; ttl != nil {
		o.IdleTTL = time.Duration(*ttl * float64(time.Second))
	}
	m, err := session.Open(o)
	if err != nil {
		return err
	}
	s.sessions.Store(m)
	s.scope = m.All()
	s.conversations = conversation.New(conversation.Options{Sessions: s.scope, Settings: s.settings, Sealed: s.ring, CheckClientTool: clientToolCheck(s.adapters), Plugins: s.pluginLoader(), Containers: s.backend.Containers, Keys: s.cfg.Keys, NoBrowser: !s.cfg.EnableBrowser})
	return nil
}

func (s *services) openBash(context.Context) (err error) {
	o := bash.Options{Dir: s.cfg.BashEventsDir, Log: s.log}
	if s := s.cfg.BashEventsRetentionSeconds; s != nil {
		o.Retention = time.Duration(*s) * time.Second
	}
	if s.bash, err = bash.Open(o); err != nil {
		return err
	}
	scoped := bash.ScopeOptions{
		Options: o, Dir: func(id string) string { return filepath.Join(s.cfg.ConversationsPath, id, "bash_events") },
	}
	if s.backend.Sandboxed {
		scoped.Runner = func(scope workspacescope.Scope) bash.Runner { return sandboxRunner{s, scope.ID} }
	}
	s.scopes = bash.NewScopes(scoped)
	return nil
}

func (s *services) openSockets(context.Context) error {
	s.sockets = socket.New(socket.Options{
		Find: sessionsOf(s.scope), Bash: s.bash,
		Keys: s.cfg.Keys, Origin: s.cfg.Origin, Log: s.log,
	})
	return nil
}

// scopedWorkspace is the workspace of a conversation.
type scopedWorkspace struct {
	c    *session.Conversation
	path string
}

func (w scopedWorkspace) Path() string { return w.path }

func (w scopedWorkspace) Contains(path string) bool { return w.c.WorkspaceContains(path) }

func (w scopedWorkspace) Open(ctx context.Context) (workspace.Files, error) {
	return w.c.Environment().Files(ctx)
}

// workspaceOf implements [workspacescope.WorkspaceOf].
func (s *services) workspaceOf(ctx context.Context, id string) (workspacescope.Workspace, error) {
	cid, ok := event.ParseConversationID(id)
	if !ok {
		return nil, fault.New(fault.NotFound, "Conversation not found: "+id)
	}
	c, err := s.scope.Get(ctx, cid)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(c.Workspace())
	return scopedWorkspace{c, path}, err
}

// routes are the routes of all parts.
func (s *services) routes() []rest.Route {
	of := workspacescope.WorkspaceOf(s.workspaceOf)
	f := files.New(files.Options{WorkspaceOf: of, Trajectory: s.trajectory, Home: s.home})
	g := s.newGit(s.settings)
	return slices.Concat(
		s.conversations.Routes(), s.sockets.Routes(), settingsroutes.Routes(settingsroutes.Only(s.settings), s.log),
		settingsroutes.Workspaces(workspaces.New(filepath.Join(s.cfg.ConversationsPath, "..", ".openhands"))),
		llmlist.New(catalog.Default, s.adapters.Providers()).Routes(),
		[]rest.Route{{Method: "POST", Path: "/api/conversations/prepare-for-sandbox-pause", Hidden: true, Scope: rest.Sandbox, Handle: s.suspend}},
		s.bash.Routes(), s.scopes.Routes(of), f.Routes(), f.ScopedRoutes(of), g.Routes(), g.ScopedRoutes(of),
		s.skills.Routes(), project.Hooks(s.log, s.checkProject),
		plugins.New(plugins.Options{Home: s.home, Persistence: s.cfg.PersistenceDir, Log: s.log, CheckProject: s.checkProject}).Routes(),
		project.SubAgents(s.log, s.subAgents(), s.checkProject),
		s.newGateway().Routes(),
		mcp.New(mcp.Options{Probe: s.adapters.ProbeMCP, LogIn: s.adapters.LogInMCP, Jobs: s.logins, Logins: s.settings, Keys: s.ring, Tools: mcp.Catalogue()}).Routes(),
		acpmodels.New(acpmodels.Options{Discover: s.discoverACP, Secret: s.secret, BaseURL: s.url, Keys: s.ring}).Routes(),
		canvasExtensions(), vscode.Routes(vscode.Options{Editor: s.editor(), Find: func(ctx context.Context, id string) error { _, err := of(ctx, id); return err }}),
	)
}

func (s *services) discoverACP(ctx context.Context, f *spec.ACP, secrets map[string]string, mask func(string) string) (spec.ACPDiscovery, error) {
	return s.backend.DiscoverACP(ctx, f, secrets, mask)
}

// secret returns a stored secret by its address.
func (s *services) secret(ctx context.Context, url string) (value string, ok bool) {
	return settings.OneOwner(s.settings, s.url, s.log).Secret(ctx, identity.LocalTenant, url)
}

// editor is VS Code of the conversations; nil where it is switched off.
func (s *services) editor() vscode.Editor {
	if s.vscode == nil {
		return nil
	}
	return s.vscode
}

func (s *services) openVSCode(context.Context) error {
	if !s.cfg.EnableVSCode {
		return nil
	}
	o := vscode.ServerOptions{
		Link: s.backend.Link, Address: net.JoinHostPort(s.cfg.Host, strconv.Itoa(s.cfg.VSCodePort)), Log: s.log,
		Get: func(ctx context.Context, id event.ConversationID) (*session.Conversation, error) {
			if id == "" {
				page, err := s.scope.Infos(ctx, eventstream.ListQuery{Limit: 1})
				if err != nil {
					return nil, err
				}
				if len(page.Infos) == 0 {
					return nil, fault.New(fault.NotFound, "there is no conversation")
				}
				id = page.Infos[0].ID
			}
			return s.scope.Get(ctx, id)
		},
	}
	if s.cfg.VSCodeBasePath != nil {
		o.BasePath = *s.cfg.VSCodeBasePath
	}
	s.vscode = vscode.NewServer(o)
	return nil
}

// trajectory writes the files of a conversation as OpenHands lays them out.
func (s *services) trajectory(ctx context.Context, id string, add files.AddFile) error {
	cid, ok := event.ParseConversationID(id)
	if !ok {
		return fault.New(fault.NotFound, "Conversation not found: "+id)
	}
	return trajectory(ctx, s.backend.Store, cid, add)
}

// WriteTrajectory answers with a zip file of a conversation's files, as OpenHands lays
// them out.
func WriteTrajectory(w http.ResponseWriter, r *http.Request, store eventstream.Stream, id event.ConversationID) error {
	return files.WriteTrajectory(w, r, id.Hex(), func(ctx context.Context, _ string, add files.AddFile) error {
		return trajectory(ctx, store, id, add)
	})
}

func trajectory(ctx context.Context, store eventstream.Stream, id event.ConversationID, add files.AddFile) error {
	dir, err := os.MkdirTemp("", "deft-trajectory-")
	if err != nil {
		return fault.Wrap(err, fault.Full, "make a directory for the trajectory")
	}
	defer os.RemoveAll(dir)
	path, err := openhands.Export(ctx, store, id, dir)
	if err != nil {
		return err
	}
	return files.AddDirectory(ctx, path, add)
}

// isolation describes where agents' commands run.
func (s *services) isolation() string {
	if !s.backend.Sandboxed {
		if inContainer(os.Getenv, "/") {
			return "isolation: this container only: commands of agents have the rights of this server"
		}
		return "isolation: none\n  WARNING: " + sandbox.None.Warning + ". Start the server with --sandbox process, or in a container"
	}
	class, warning := s.backend.Sandbox, ""
	if class.Warning != "" {
		warning = "\n  WARNING: " + class.Warning
	}
	if !class.Has(sandbox.FeatureNetwork) {
		return "isolation: " + class.Summary + ": " + class.Why + warning
	}
	network := "no network"
	switch s.cfg.Net.Mode() {
	case "open":
		network = "public hosts"
	case "list":
		network = "the hosts of --net"
	}
	return "isolation: " + class.Summary + ", which reaches " + network + warning
}

// close closes the parts in the opposite order of openServices.
func (s *services) close(ctx context.Context) error {
	var errs []error
	s.tasks.stop()
	if s.logins != nil {
		errs = append(errs, s.logins.Close())
	}
	if s.sockets != nil {
		s.sockets.Close()
	}
	if s.vscode != nil {
		errs = append(errs, s.vscode.Close())
	}
	if m := s.sessions.Load(); m != nil {
		errs = append(errs, m.Close(ctx))
	} else if s.backend != nil {
		errs = append(errs, s.backend.Lock.Close())
	}
	if s.scopes != nil {
		errs = append(errs, s.scopes.Close())
	}
	if s.bash != nil {
		errs = append(errs, s.bash.Close())
	}
	if s.webhooks != nil {
		end, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		errs = append(errs, s.webhooks.Close(end))
	}
	if s.backend != nil {
		errs = append(errs, s.backend.Close())
	}
	return errors.Join(errs...)
}
