package appserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/appserver/apps"
	"github.com/deft-dev/deft/server/appserver/callbacks"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/git"
	"github.com/deft-dev/deft/server/appserver/mcpserver"
	"github.com/deft-dev/deft/server/appserver/plugins"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	settingsroutes "github.com/deft-dev/deft/server/appserver/settings"
	"github.com/deft-dev/deft/server/appserver/signin"
	"github.com/deft-dev/deft/server/appserver/store"
	v0 "github.com/deft-dev/deft/server/appserver/v0"
	v1 "github.com/deft-dev/deft/server/appserver/v1"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/subagent"
)

var errClosing = fault.New(fault.Unavailable, "the server stops").Hint("try again in a moment")

// secretsURL is the base of the addresses by which conversations name stored secrets. They
// are looked up without a request, by whatever server works on the conversation, so it is
// nobody's address (RFC 2606).
const secretsURL = "http://secrets.invalid"

// services are the parts of a server.
type services struct {
	o       Options
	began   time.Time
	backend *agentserver.Backend

	home          string // of the server's user; empty: there is none
	store         *store.Store
	files         FileStore
	owners        *owners
	sessions      *session.Manager
	jobs          *job.Engine
	callbacks     *callbacks.Service
	sandboxes     *sandboxes.Service
	warm          *sandboxes.Warm // nil for none
	conversations *conversations.Service
	skills        func() ([]skill.Listed, []skill.Warning)
	signin        *signin.Service
	agentServers  *agentServers
	apps          *apps.Service
	mcp           *mcpserver.Service
	logins        *mcplogin.Jobs
	plugins       *plugins.Service
	replicas      *replicas // nil where there is only this one
	v0            *v0.Service
	table         *rest.Server
	contract      *rest.Server // knows the routes of sandboxes, and answers preflight requests for them
}

// openServices opens the parts.
func openServices(ctx context.Context, o Options) (_ *services, err error) {
	s := &services{o: o, began: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	workspaces := filepath.Join(o.Dir, "workspaces")
	if err := os.MkdirAll(workspaces, 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make the directory of workspaces")
	}
	if s.backend, err = o.Open(ctx); err != nil {
		return nil, err
	}
	if s.store, err = o.OpenStore(ctx); err != nil {
		return nil, err
	}
	files, err := o.OpenFiles(ctx)
	if err != nil {
		return nil, err // files may be a nil pointer, which is not nil as an interface
	}
	s.files = files
	if s.owners, err = openOwners(ctx, o, s.store); err != nil {
		return nil, err
	}
	s.home, _ = os.UserHomeDir() // a user without one has no skills of his own
	catalog := skill.NewCatalog(s.home, o.Settings, os.Getenv("EXTENSIONS_PATH"))
	s.skills = func() ([]skill.Listed, []skill.Warning) {
		all, users, others := catalog.List(skill.DefaultMarketplace)
		for _, w := range slices.Concat(users, others) {
			o.Log.Warn("a skill is not listed", "err", w)
		}
		return all, users
	}
	s.jobs = job.New(job.Options{Store: s.store, Lock: s.backend.Lock, Log: o.Log})
	s.callbacks = callbacks.New(callbacks.Options{Stream: s.backend.Store, Store: s.store, Jobs: s.jobs, Services: s.processorServices, Log: o.Log})
	s.sessions, err = session.Open(session.Options{
		Store: s.callbacks.Stream(), Lock: lockOfConversations(s.backend.Lock, s.jobs, s.callbacks), Dir: o.Conversations, Ring: o.Ring, Log: o.Log,
		Settings: s.owners, Permissions: s.owners, Memories: s.owners, Unsandboxed: !s.backend.Sandboxed, Models: s.backend.Models, Builder: s.backend.Builder, View: view.OpenHands{},
		Files: session.Worktrees{
			PlainDirectories: session.PlainDirectories{Skills: catalog},
			Root:             o.Worktrees,
			KeepChanged:      o.Local != nil,
		},
		SubAgents: subagent.NewCatalog(s.home, o.Settings),
		Plugins:   plugin.NewCatalog(s.home, o.Settings, plugin.CopiesDir(s.home, os.Getenv)),
		AdmitChild: func(ctx context.Context, parent, child event.ConversationID) error {
			return s.sandboxes.AdmitChild(ctx, parent, child)
		},
		Replays: func(ctx context.Context, id event.ConversationID) bool { return s.conversations.Replays(ctx, id) },
		BaseURL: secretsURL, MaxRuns: o.MaxRuns, IdleTTL: o.IdleTTL, Checkpoints: o.Checkpoints, CheckpointTimes: o.CheckpointTimes,
	})
	if err != nil {
		return nil, err
	}
	elsewhere, err := s.backend.Builder.WorkspaceInside(session.Placement{})
	if err != nil {
		return nil, err
	}
	places := sandboxes.Options{Store: s.store, Sessions: s.sessions, Files: s.files, Root: workspaces, Stored: s.owners.storedSecrets, SecretsURL: secretsURL, Spec: o.Spec, Most: o.MaxSandboxes, Log: o.Log}
	if elsewhere {
		places.Vanished = func(ctx context.Context, ids []event.ConversationID) (map[event.ConversationID]time.Time, error) {
			return s.backend.Vanished(ctx, session.Placement{}, ids)
		}
	} else if s.backend.Sandboxed {
		places.Isolation = s.backend.Sandboxes
	}
	s.sandboxes = sandboxes.New(places)
	if o.Warm != nil {
		if s.warm, err = s.sandboxes.OpenWarm(filepath.Join(o.Dir, "warm"), s.backend.Lock, o.Warm); err != nil {
			return nil, err
		}
	}
	s.conversations = conversations.New(conversations.Options{
		Sessions: s.sessions, Sandboxes: s.sandboxes, Warm: s.warm, Store: s.store, Settings: s.owners, Files: s.files, Jobs: s.jobs, Callbacks: s.callbacks, Strategy: o.Strategy, MaxRuns: o.MaxRunsOfOwner, Demo: o.Demo, Local: o.Local, Link: s.link, Log: o.Log,
	})
	s.signin = signin.New(signin.Options{Store: s.store, Secure: o.secure, Peer: o.peer, URL: o.WebURL, Base: o.baseURL, SignOn: o.SignOn, Log: o.Log})
	s.apps = apps.New(apps.Options{Conversations: s.conversations, Store: s.store, Link: o.Link, Domain: o.AppsDomain, URL: o.baseURL, Log: o.Log})
	s.replicas = newReplicas(s.backend.Lock, s.store.InSandbox, o.Log)
	s.agentServers = &agentServers{make: s.newAgentServer, log: o.Log, open: map[string]*agentServer{}}
	s.v0 = v0.New(v0.Options{Conversations: s.conversations, Sandboxes: s.sandboxes, URL: o.baseURL, MCPServers: settingsroutes.MCPServers, Log: o.Log})
	s.plugins = plugins.New(plugins.Options{Home: s.home, Persistence: o.Settings, Directories: o.Local != nil, Settings: s.owners.Of})
	s.mcp, s.logins = s.newMCP(), mcplogin.New()
	if s.table, err = rest.New(rest.Options{
		Routes: s.routes(), SameOrigin: true, Origin: o.allowedOrigin, Costly: costlyLimit(o.CostlyPerMinute), Log: o.Log,
		Authenticate: s.signin.Authenticate,
	}); err != nil {
		return nil, err
	}
	s.contract, err = rest.New(rest.Options{Routes: agentserver.ScopedRoutes(), SameOrigin: true, Origin: o.allowedOrigin, Log: o.Log})
	return s, err
}

// routes are the routes of all parts.
func (s *services) routes() []rest.Route {
	all := slices.Concat(
		s.health(), s.signin.Routes(),
		v1.New(v1.Options{
			Conversations: s.conversations, Sandboxes: s.sandboxes, URL: s.o.baseURL, Download: s.download, Skills: s.skills, Isolations: s.o.Isolations, Network: s.o.Network, Log: s.o.Log,
			Dir: s.o.Dir, Data: s.o.Conversations, Home: s.home,
			Spec: v1.Spec{ID: s.o.Spec, Created: s.began.UTC().Format(time.RFC3339), Env: map[string]string{}, WorkingDir: sandboxes.ClientDirectory + "/" + sandboxes.ProjectDirectory},
		}).Routes(),
		settingsroutes.New(settingsroutes.Options{Of: s.owners.Of, Tokens: s.owners, Keys: s.signin, Sandboxes: s.store, Began: s.began, Log: s.o.Log, ProbeMCP: agentserver.MCPProber(s.o.Adapters), TryMCP: s.o.TryMCP, LogIn: s.logIn, LogOut: s.logOut, Logins: s.logins, Replicas: s.replicas, LoginKey: s.loginKey, URL: s.o.baseURL, Limits: s.owners.limits, Networks: s.o.Networks}).Routes(),
		agentserver.AgentProfiles(s.callerSettings, s.o.Log),
		settingsroutes.OfOrganization(agentserver.OrganizationConnections(s.callerSettings, s.o.Log)...),
		s.v0.Routes(),
		git.New(git.Options{Tokens: s.owners.tokens, Forges: s.o.Forges, Log: s.o.Log}).Routes(),
		s.apps.Routes(), s.plugins.Routes(),
		s.mcp.Routes(),
		[]rest.Route{{Method: "POST", Path: "/api/cloud-proxy", Tag: "Server", Scope: rest.Public, Limit: rest.MaxPublicBody, Trusted: rest.DefaultBody, Handle: front{s}.cloudProxy}},
		absent(),
	)
	return append(all, description(all, s.o.Version)...)
}

// logIn logs in at an MCP server.
func (s *services) logIn(ctx context.Context, r mcplogin.Request) (json.RawMessage, error) {
	return s.o.Adapters.LogInMCP(ctx, r)
}

// logOut logs out at an MCP server.
func (s *services) logOut(ctx context.Context, server json.RawMessage, logins mcplogin.Logins) (bool, error) {
	return s.o.Adapters.LogOutMCP(ctx, server, logins)
}

func (s *services) loginKey(address string) (string, error) { return s.o.Adapters.MCPLoginKey(address) }

// Routes returns the operations of a server, which cannot be called: for what lists or
// tests them.
func Routes() []rest.Route {
	s := &services{owners: &owners{}, plugins: plugins.New(plugins.Options{}), v0: v0.New(v0.Options{}), mcp: mcpserver.New(mcpserver.Options{})}
	return s.routes()
}

// absent are operations of OpenHands that are not here. No page is at their paths.
func absent() (out []rest.Route) {
	none := func(http.ResponseWriter, *http.Request) error { return rest.Fail(http.StatusNotFound, "Not Found") }
	for _, path := range []string{"/integration/{path...}", "/oauth/{path...}", "/feedback/{path...}", "/socket.io/{path...}"} {
		out = append(out, rest.Route{Path: path, Hidden: true, Scope: rest.Public, Limit: rest.NoBody, Trusted: rest.DefaultBody, Handle: none})
	}
	return out
}

// callerSettings returns the settings of a request's caller.
func (s *services) callerSettings(ctx context.Context) (*settings.Service, error) {
	return s.owners.Of(ctx, identity.CallerOf(ctx).Tenant())
}

// health says that the server works.
func (s *services) health() []rest.Route {
	answer := func(v any) rest.Handler {
		return func(w http.ResponseWriter, _ *http.Request) error { return rest.JSON(w, http.StatusOK, v) }
	}
	open := func(path string, h rest.Handler) rest.Route {
		return rest.Route{Method: "GET", Path: path, Tag: "Server", Scope: rest.Public, Limit: rest.NoBody, Handle: h}
	}
	return []rest.Route{
		open("/alive", answer(map[string]string{"status": "ok"})),
		open("/health", answer("OK")),
		open("/ready", answer(map[string]string{"status": "ready"})),
		open("/server_info", func(w http.ResponseWriter, _ *http.Request) error {
			up, idle := s.uptime()
			return rest.JSON(w, http.StatusOK, map[string]any{"title": "Deft App Server", "version": s.o.Version, "uptime": up.Seconds(), "idle_time": idle.Seconds()})
		}),
	}
}

func (s *services) uptime() (up, idle time.Duration) {
	up = time.Since(s.began)
	return up, 0
}

// download answers with the files of a conversation, as OpenHands lays them out.
func (s *services) download(w http.ResponseWriter, r *http.Request, id event.ConversationID) error {
	return agentserver.WriteTrajectory(w, r, s.backend.Store, id)
}

// close closes the parts in the opposite order of openServices. Conversations that run
// are paused, and go on when the server starts again.
func (s *services) close(ctx context.Context) error {
	var errs []error
	if s.agentServers != nil {
		errs = append(errs, s.agentServers.close())
	}
	if s.jobs != nil {
		s.jobs.Close()
	}
	if s.logins != nil {
		errs = append(errs, s.logins.Close())
	}
	if s.warm != nil {
		s.warm.Close()
	}
	switch {
	case s.sessions != nil:
		errs = append(errs, s.sessions.Close(ctx))
	case s.backend != nil:
		errs = append(errs, s.backend.Lock.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.files != nil {
		errs = append(errs, s.files.Close())
	}
	if s.backend != nil {
		errs = append(errs, s.backend.Close())
	}
	return errors.Join(errs...)
}

// logOf is the log of a part.
func logOf(l *slog.Logger) *slog.Logger {
	l = cmp.Or(l, slog.New(slog.DiscardHandler))
	return l
}
