package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/cli/demo"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/oauth"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/identity/oidc"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/objectstore/local"
	"github.com/deft-dev/deft/internal/objectstore/s3"
	"github.com/deft-dev/deft/internal/outbound"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/server/agentserver"
	serversettings "github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/appserver"
	"github.com/deft-dev/deft/server/appserver/config"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/signin"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/tool/mcp"
	"github.com/deft-dev/deft/web"
)

// serveCmd serves the App Server.
type serveCmd struct {
	config.Flags `embed:""`
}

// Help is shown by --help.
func (c *serveCmd) Help() string {
	return `Serves the App Server on one port: the REST API of OpenHands' app server, conversations
in sandboxes, settings and secrets, and for each sandbox the agent-server contract.

  deft serve                     # for this machine; prints a link that signs in, and its
                                 # page proposes to work in the project where it was started
  deft serve --sandbox docker --image python:3.13-bookworm
  DEFT_DATABASE_URL=postgres://… deft serve --address 0.0.0.0:3000 \
      --public-url https://deft.example.com

Requests need a browser's session (by the printed link) or an API key, also on this
machine. Conversations, settings and secrets are those of deft run. Settings come from
TOML files, variables and flags; deft config shows them.`
}

// Run serves until it is told to stop.
func (c *serveCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	debug.SetGCPercent(150) // as for the agent server
	ctx, stop := runcommand.UntilTold(ctx)
	defer stop()
	sources, err := configSources(std, g, c.Flags)
	if err != nil {
		return err
	}
	cfg, report, err := config.Load(sources)
	if err != nil {
		return err
	}
	log := cfg.Log.Logger(std.Err)
	for _, w := range report.Warnings {
		log.Warn("configuration", "warning", w)
	}
	s, l, err := newAppServer(ctx, std, cfg, log)
	if err != nil {
		return err
	}
	code, err := s.NewCode(ctx)
	if err != nil {
		return errors.Join(err, l.Close(), s.Close(context.WithoutCancel(ctx)))
	}
	address := cfg.Server.BrowserAddress(serversettings.InternalURL(l.Addr()))
	fmt.Fprintf(std.Err, "deft serves on %s\n  sign in once within 15 minutes: %s/#login=%s\n", address, address, code)
	return s.Serve(ctx, l)
}

// newAppServer makes the server of a configuration, and listens.
func newAppServer(ctx context.Context, std *streams, cfg *config.Config, log *slog.Logger) (*appserver.Server, net.Listener, error) {
	class, err := sandboxClasses().Find(cfg.Sandbox.Class)
	if err == nil {
		err = checkServe(cfg, class)
	}
	if err != nil {
		return nil, nil, err
	}
	if cfg.Restricted() {
		outbound.Restrict(outbound.Policy{Internal: cfg.InternalHosts()})
	}
	paths := paths{data: cfg.Data}
	settings, err := serversettings.PersistenceDir(std.Env)
	if err != nil {
		return nil, nil, err
	}
	ring, err := serversettings.OpenRing(std.Env, settings, std.tell)
	if err != nil {
		return nil, nil, err
	}
	remote := runtimeAPIFlags{RuntimeAPI: cfg.Sandbox.RuntimeAPI, RuntimeAPIKeyEnv: cfg.Sandbox.RuntimeAPIKeyEnv}
	classes, err := remote.classes(std.Env)
	if err != nil {
		return nil, nil, err
	}
	renewer, err := oauth.New(map[forge.Provider]oauth.App{
		forge.GitHub:    {ID: cfg.Git.GitHubClientID, Secret: cfg.Git.GitHubClientSecret, TokenURL: cfg.Git.GitHubTokenURL},
		forge.GitLab:    {ID: cfg.Git.GitLabClientID, Secret: cfg.Git.GitLabClientSecret, TokenURL: cfg.Git.GitLabTokenURL},
		forge.Bitbucket: {ID: cfg.Git.BitbucketClientID, Secret: cfg.Git.BitbucketClientSecret},
	})
	if err != nil {
		return nil, nil, err
	}
	l, err := std.listen(ctx, "tcp", cfg.Server.Address, "--address")
	if err != nil {
		return nil, nil, err
	}
	a := adapters{log: log, classes: classes}
	dir := filepath.Join(paths.store(), "app")
	local := localDirectories(cfg, class, paths, std)
	var links sandboxLinks
	var s *appserver.Server
	o := appserver.Options{
		Dir: dir, Conversations: paths.store(), Settings: settings, Ring: ring, Adapters: a, Forges: a.Forges(), Renewer: renewer,
		Open: func(ctx context.Context) (*agentserver.Backend, error) {
			b, builder, err := a.open(ctx, backendOptions{
				dir: paths.store(), settings: settings, ring: ring, hidden: append(cfg.Private(), paths.store(), settings),
				placement: cfg.Placement(class), oneUser: local != nil, store: eventStore(cfg, paths.store(), cfg.Server.ReplicaAddress(l.Addr(), log), log),
				prepare:  func() error { return makeAll(cfg.Data, paths.store(), settings, cfg.FilesDir()) },
				profiles: func() (*profiles.Stores, error) { return s.LocalProfiles(context.WithoutCancel(ctx)) },
				mcp: func(ctx context.Context, r session.BuildRequest) (mcp.Local, error) {
					return s.MCP(ctx, r.Owner, r.ID) // conversations work when s is made
				},
				logins: func(ctx context.Context, owner identity.Tenant) (mcp.Logins, error) { return s.Logins(ctx, owner) },
			})
			links.builder = builder
			return b, err
		},
		Warm: links.warm(cfg, class), Link: links.link, Isolations: &links, AppsDomain: cfg.Server.AppsDomain,
		OpenFiles:   func(ctx context.Context) (appserver.FileStore, error) { return fileStore(ctx, cfg, std.Env) },
		OpenStore:   func(ctx context.Context) (*store.Store, error) { return appStore(ctx, cfg, dir, ring) },
		InternalURL: serversettings.InternalURL(l.Addr()), WebURL: cfg.Server.PublicURL, AllowedOrigins: cfg.Server.AllowedOrigins,
		TrustedProxy: cfg.Server.Trusts, Certificate: cfg.Server.TLSCertificate, CertificateKey: cfg.Server.TLSKey,
		Spec: cmp.Or(cfg.Sandbox.Image, cfg.Sandbox.Class), Strategy: sandboxes.Strategy(cfg.Sandbox.Grouping),
		MaxRuns: serversettings.Runs(), MaxRunsOfOwner: cfg.Conversations.MaxPerUser, MaxSandboxes: cfg.Sandbox.MaxPerUser,
		CostlyPerMinute: cfg.Server.CostlyPerMinute, SignOn: signOn(cfg.Auth),
		SearchKey: cfg.Conversations.SearchAPIKey,
		IdleTTL:   cfg.Conversations.IdleTimeout, MaxIterations: cfg.Conversations.MaxIterations, MaxCost: cfg.Conversations.MaxBudget,
		Networks: cfg.Networks(class), Network: func(text string) (sandbox.Network, error) { return cfg.TaskNetwork(class, text) }, TryMCP: links.tryMCP,
		Confirm: security.Preset(cfg.Conversations.Confirm),
		Page:    web.Handler(), Model: cfg.LLM.Document(),
		Local: local, Worktrees: filepath.Join(dir, "worktrees"),
		Demo:    &conversations.Demo{Title: demo.Task, Unpack: demo.Session},
		Version: version, Out: std.Err, Log: log, Started: func() { releaseStart(log) },
	}
	if local != nil {
		o.Worktrees = paths.worktrees() // deft run goes on in them
	}
	if when := session.CheckpointTimes(cfg.Conversations.Checkpoints); when != session.CheckpointsOff && checkpoint.Available() {
		o.Checkpoints, o.CheckpointTimes = paths.checkpoints(), when
	}
	if cfg.Conversations.MaxRunning > 0 {
		o.MaxRuns = cfg.Conversations.MaxRunning
	}
	if o.IdleTTL == 0 {
		o.IdleTTL = -1 // for never
	}
	s, err = appserver.New(ctx, o)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return s, l, nil
}

// signOn has people sign in at the identity provider of a configuration, if it has one.
func signOn(a config.Auth) signin.SignOn {
	if a.Issuer == "" {
		return signin.SignOn{}
	}
	return signin.SignOn{Provider: identityProvider(a), Name: a.Title(), Admission: a.Admission(), SessionTime: a.SessionTime}
}

func identityProvider(a config.Auth) *oidc.Provider {
	return oidc.New(oidc.Options{Issuer: a.Issuer, ClientID: a.ClientID, Secret: a.ClientSecret.Reveal(), Scopes: a.Scopes, GroupsClaim: a.GroupsClaim})
}

// tryProvider is for `deft config check`.
func tryProvider(ctx context.Context, a config.Auth) error { return identityProvider(a).Check(ctx) }

// localDirectories lets conversations work in directories of this machine, where a server is
// for its owner alone; nil elsewhere.
func localDirectories(cfg *config.Config, class sandbox.Class, p paths, std *streams) *conversations.Local {
	if !cfg.Local() || class.Name != process.Class.Name || cfg.Database.PostgreSQL() {
		return nil
	}
	started, err := os.Getwd()
	if err != nil { // it was removed
		started = ""
	}
	return &conversations.Local{
		Rules:   workspacedir.Rules{Home: std.Env("HOME"), Data: []string{p.data}, What: "the directory"},
		Started: started, Worktrees: p.worktrees(), Class: class,
	}
}

// makeAll makes directories that sandboxes hide: one that is made later would be seen.
func makeAll(dirs ...string) error {
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fault.Wrap(err, fault.Denied, "make the directory "+dir)
		}
	}
	return nil
}

// checkServe refuses harmful options.
func checkServe(cfg *config.Config, class sandbox.Class) error {
	if class.Open("") && !cfg.Local() {
		return fault.New(fault.Denied, "without a sandbox, commands of agents have your rights on this machine: that is not served to others").
			Hint("use --sandbox " + sandbox.Or(sandboxClasses().Outside().Names()) + ", or listen on 127.0.0.1 without auth.issuer")
	}
	return nil
}

// eventStore opens the store of events and the locks of conversations.
func eventStore(cfg *config.Config, dir, address string, log *slog.Logger) func(context.Context) (eventstream.Stream, session.Lock, error) {
	if !cfg.Database.PostgreSQL() {
		return sqliteBackend(dir)
	}
	return func(ctx context.Context) (eventstream.Stream, session.Lock, error) {
		s, err := postgres.Open(ctx, string(cfg.Database.URL), postgres.Options{Log: log, Address: address})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Locks(), nil
	}
}

// appStore opens the App Server's tables.
func appStore(ctx context.Context, cfg *config.Config, dir string, ring *keyring.Ring) (*store.Store, error) {
	if cfg.Database.PostgreSQL() {
		c, err := pgxpool.ParseConfig(string(cfg.Database.URL)) // it may have settings of the other pool
		if err != nil {                                         // its text may have the password
			return nil, fault.New(fault.Invalid, "the address of the PostgreSQL database cannot be read")
		}
		db := stdlib.OpenDB(*c.ConnConfig)
		// As many connections as the other pool has, and at least the ones that locks of documents
		// need. They are kept: nearly every request uses one, and making one takes long.
		n := max(2, int(c.MaxConns))
		db.SetMaxOpenConns(n)
		db.SetMaxIdleConns(n)
		db.SetConnMaxIdleTime(c.MaxConnIdleTime)
		return store.Open(ctx, db, store.PostgreSQL, ring)
	}
	source, err := store.SQLiteSource(filepath.Join(dir, "app.db"))
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return store.Open(ctx, db, store.SQLite, ring)
}

// fileStore opens the directory or the bucket of files.
func fileStore(ctx context.Context, cfg *config.Config, env func(string) string) (appserver.FileStore, error) {
	if dir := cfg.FilesDir(); dir != "" {
		return local.Open(dir)
	}
	return s3.Open(ctx, cfg.Files.URL, env)
}
