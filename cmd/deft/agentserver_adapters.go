package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	forges "github.com/deft-dev/deft/forge/route"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/agentserver/conversation"
	mcproutes "github.com/deft-dev/deft/server/agentserver/mcp"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/session/conversationlock"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/tool/client"
	"github.com/deft-dev/deft/tool/mcp"
	"github.com/deft-dev/deft/tool/terminal"
)

// adapters implements [agentserver.Adapters] with the adapters that this program
// links.
type adapters struct {
	log     *slog.Logger
	classes build.Classes
	// executor is the class of executors of an agent server; "" for the environment's.
	executor string
}

// Open implements [agentserver.Adapters].
func (a adapters) Open(ctx context.Context, cfg *config.Loaded) (*agentserver.Backend, error) {
	ring, err := cfg.Ring()
	if err != nil {
		return nil, err
	}
	p := session.Placement{SandboxClass: cfg.Sandbox.Name, Network: cfg.Net, Limits: cfg.Limits, Readable: cfg.Readable, Writable: cfg.Writable}
	if cfg.Sandbox.Has(sandbox.FeatureImage) {
		p.Container = cfg.Container
	}
	containers := containersOf(cfg, p)
	if cfg.Sandbox.Name == docker.Class.Name {
		p = containers.Docker
	}
	p = build.FromEnvironment(p, os.Getenv)
	p.ExecutorClass = cmp.Or(a.executor, p.ExecutorClass)
	b, builder, err := a.open(ctx, backendOptions{
		dir: cfg.ConversationsPath, settings: cfg.PersistenceDir, ring: ring, hidden: cfg.Private(), placement: p,
		store: sqliteBackend(cfg.ConversationsPath), prepare: func() error { return makeHidden(cfg, a.log) },
	})
	if err == nil && containers != nil {
		containers.Sandboxes, b.Containers = builder, containers
	}
	return b, err
}

// backendOptions configure a server's backend.
type backendOptions struct {
	dir, settings string // of conversations, and of the local user's settings
	ring          *keyring.Ring
	// profiles returns the local user's profiles; nil for the settings' own.
	profiles  func() (*profiles.Stores, error)
	hidden    []string // from sandboxes, beside dir
	placement session.Placement
	oneUser   bool // all conversations and their directories have one owner
	// store opens the store of events and the lock of conversations.
	store func(ctx context.Context) (eventstream.Stream, session.Lock, error)
	// prepare is called before sandboxes are used.
	prepare func() error
	// mcp returns the server's own MCP servers of a conversation; nil for none.
	mcp func(ctx context.Context, r session.BuildRequest) (mcp.Local, error)
	// logins returns an owner's logins at MCP servers; nil takes the settings'.
	logins func(ctx context.Context, owner identity.Tenant) (mcp.Logins, error)
}

// loginsIn returns the logins of the one owner of settings, which are opened when they are
// needed.
func loginsIn(dir string, ring *keyring.Ring) func(context.Context, identity.Tenant) (mcp.Logins, error) {
	open := sync.OnceValues(func() (*settings.Service, error) {
		return settings.Open(context.Background(), settings.Options{Dir: dir, Keys: ring})
	})
	return func(context.Context, identity.Tenant) (mcp.Logins, error) {
		s, err := open()
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// sqliteBackend opens the store and the locks of a directory.
func sqliteBackend(dir string) func(context.Context) (eventstream.Stream, session.Lock, error) {
	return func(ctx context.Context) (eventstream.Stream, session.Lock, error) {
		store, err := sqlite.Open(ctx, dir, sqlite.Options{})
		if err != nil {
			return nil, nil, err
		}
		lock, err := conversationlock.Open(dir)
		if err != nil {
			return nil, nil, errors.Join(err, store.Close())
		}
		return store, lock, nil
	}
}

func (a adapters) open(ctx context.Context, o backendOptions) (_ *agentserver.Backend, _ *build.Builder, err error) {
	if o.profiles == nil {
		saved := profiles.Open(profiles.Options{Dir: o.settings, Keys: o.ring, Log: a.log})
		o.profiles = func() (*profiles.Stores, error) { return saved, nil }
	}
	if o.logins == nil {
		o.logins = loginsIn(o.settings, o.ring)
	}
	b := &agentserver.Backend{Models: build.NewModels(a.log, o.profiles)}
	var closers []func() error
	b.Close = func() error {
		var errs []error
		for _, c := range slices.Backward(closers) {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	shells, serr := terminal.NewStarter()
	if serr != nil {
		a.log.Debug("shells are started from a thread with all descriptors", "err", serr)
	}
	closers = append(closers, func() error { shells.Close(); return nil })
	if b.Store, b.Lock, err = o.store(ctx); err != nil {
		return nil, nil, err
	}
	closers = append(closers, b.Store.Close)
	home, _ := os.UserHomeDir() // a user without one has no plugins of his own
	copies := plugin.CopiesDir(home, os.Getenv)
	builder, err := build.New(build.Options{Dir: o.dir, Hidden: o.hidden, Store: b.Store, Shells: shells, Classes: a.classes, Program: sandboxProgram, Log: a.log, Defaults: o.placement, OneUser: o.oneUser, Plugins: copies, MCP: o.mcp, Logins: o.logins})
	if err != nil {
		return nil, nil, errors.Join(err, b.Lock.Close())
	}
	b.Builder, b.Orphans, b.Sandboxes, b.Vanished = builder, builder, builder, builder.Vanished
	b.DiscoverACP = builder.DiscoverACP
	closers = append(closers, builder.Close)
	b.Sandbox = a.classes.Sandboxes.Get(o.placement.SandboxClass)
	if b.Sandboxed = b.Sandbox.New != nil; b.Sandboxed { // its mistakes are reported at the start
		err := o.prepare()
		if err == nil {
			_, err = builder.Sandboxes(o.placement.SandboxClass, o.placement.Isolation)
		}
		b.Link = (&sandboxLinks{builder}).link
		if err != nil {
			return nil, nil, errors.Join(err, b.Lock.Close())
		}
	}
	return b, builder, nil
}

// containersOf says how conversations get containers; nil if they get none. Those
// that do not want one have a built-in sandbox where containers are the default.
func containersOf(cfg *config.Loaded, local session.Placement) *conversation.Containers {
	if !cfg.Containers() {
		return nil
	}
	c := &conversation.Containers{
		Docker: local, Local: local, Default: cfg.ConversationRuntime == config.RuntimeDocker, Selectable: cfg.ConversationRuntimeSelectable,
	}
	if c.Default {
		c.Local.SandboxClass = process.Class.Name
	}
	c.Docker.SandboxClass, c.Docker.Container, c.Docker.Limits = docker.Class.Name, cfg.Container, cfg.ContainerLimits
	return c
}

// makeHidden makes the directories that sandboxes hide: one that is made later would
// be seen in those that run. A directory of worktrees that belongs to another user is
// none of the server's: conversations that want a worktree are refused, others are not.
func makeHidden(cfg *config.Loaded, log *slog.Logger) error {
	for _, dir := range append(cfg.Data(), cfg.WorkspacePath) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fault.Wrap(err, fault.Denied, "make the directory "+dir)
		}
	}
	err := worktree.OwnRoot(cfg.ConversationWorktreeRoot)
	if fault.Is(err, fault.Denied) {
		log.Warn("there will be no worktrees", "err", err, "hint", fault.HintOf(err))
		return nil
	}
	return err
}

// NewModel implements [agentserver.Adapters].
func (adapters) NewModel(c llm.Config) (llm.Model, error) { return route.New(c) }

// gitHosts are shared by all servers of the process.
var gitHosts = sync.OnceValue(forges.New)

// Forges implements [agentserver.Adapters].
func (adapters) Forges() forge.Opener { return gitHosts() }

// Providers implements [agentserver.Adapters].
func (adapters) Providers() []string { return route.Prefixes() }

// ProbeMCP implements [agentserver.Adapters].
func (adapters) ProbeMCP(ctx context.Context, p mcproutes.Probe) (mcproutes.Result, error) {
	s, err := mcp.ParseServer(p.Server)
	if err != nil {
		return mcproutes.Result{}, err
	}
	if _, err := sandbox.ParseNetwork(strings.Join(s.Network, ",")); err != nil {
		return mcproutes.Result{}, err
	}
	o := mcp.Options{Programs: build.HostPrograms("")}
	if p.Logins != nil {
		o.Logins = p.Logins
	}
	got, err := mcp.Probe(ctx, p.Name, s, o, p.Limit, p.Tool, p.Arguments)
	return mcproutes.Result(got), err
}

// LogInMCP implements [agentserver.Adapters].
func (adapters) LogInMCP(ctx context.Context, r mcplogin.Request) (json.RawMessage, error) {
	s, err := mcp.ParseServer(r.Server)
	if err != nil {
		return nil, err
	}
	o := mcp.LoginOptions{Redirect: r.Redirect, Visit: r.Visit}
	if r.Logins != nil {
		o.Logins = r.Logins
	}
	return mcp.LogIn(ctx, s, o)
}

// LogOutMCP implements [agentserver.Adapters].
func (adapters) LogOutMCP(ctx context.Context, server json.RawMessage, logins mcplogin.Logins) (revoked bool, err error) {
	s, err := mcp.ParseServer(server)
	if err != nil {
		return false, err
	}
	return mcp.LogOut(ctx, s, logins)
}

// MCPLoginKey implements [agentserver.Adapters].
func (adapters) MCPLoginKey(address string) (string, error) { return mcp.LoginKey(address) }

// CheckClientTool implements [agentserver.Adapters].
func (adapters) CheckClientTool(raw json.RawMessage) (name string, err error) {
	var s client.Spec
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", schema.Invalid(err.Error(), nil, "body", "client_tools")
	}
	return s.Name, nil
}
