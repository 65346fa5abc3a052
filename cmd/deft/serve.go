package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/cli/demo"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/oauth"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/objectstore/local"
	"github.com/deft-dev/deft/internal/objectstore/s3"
	"github.com/deft-dev/deft/internal/outbound"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/server/agentserver"
	serversettings "github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/appserver"
	"github.com/deft-dev/deft/server/appserver/config"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
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

  deft serve                     # for this machine; prints a link that signs in
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
	log := newLog(std, cfg.Log)
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
	address := browserAddress(cfg.Server, l.Addr())
	fmt.Fprintf(std.Err, "deft serves on %s\n  sign in once within 15 minutes: %s/#login=%s\n", address, address, code)
	return s.Serve(ctx, l)
}

// newLog is the log that a configuration asks for.
func newLog(std *streams, c config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo // it was checked
	}
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(std.Err, o))
	}
	return slog.New(slog.NewTextHandler(std.Err, o))
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
	if cfg.Server.Restricted() {
		outbound.Restrict(outbound.Policy{Internal: cfg.InternalHosts()})
	}
	paths := paths{data: cfg.Data}
	settings, err := serversettings.PersistenceDir(std.Env)
	if err != nil {
		return nil, nil, err
	}
	ring, err := openRing(std, settings)
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
	l, err := std.listen(ctx, "tcp", cfg.Server.Address)
	if err != nil {
		return nil, nil, cannotListen(cfg.Server.Address, "--address", err)
	}
	a := adapters{log: log, classes: classes}
	dir := filepath.Join(paths.store(), "app")
	var links sandboxLinks
	var s *appserver.Server
	o := appserver.Options{
		Dir: dir, Conversations: paths.store(), Settings: settings, Ring: ring, Adapters: a, Forges: a.Forges(), Renewer: renewer,
		Open: func(ctx context.Context) (*agentserver.Backend, error) {
			b, builder, err := a.open(ctx, backendOptions{
				dir: paths.store(), settings: settings, ring: ring, hidden: append(cfg.Private(), paths.store(), settings),
				placement: placement(cfg, class), store: eventStore(cfg, paths.store(), replicaAddress(cfg.Server, l.Addr(), log), log),
				prepare:  func() error { return makeAll(cfg.Data, paths.store(), settings, cfg.FilesDir()) },
				profiles: func() (*profiles.Stores, error) { return s.LocalProfiles(context.WithoutCancel(ctx)) },
				mcp: func(ctx context.Context, r session.BuildRequest) (mcp.Local, error) {
					return s.MCP(ctx, r.Owner, r.ID) // conversations work when s is made
				},
			})
			links.builder = builder
			return b, err
		},
		Warm: links.warm(cfg, class), Link: links.link, Isolations: &links, AppsDomain: cfg.Server.AppsDomain,
		OpenFiles:   func(ctx context.Context) (appserver.FileStore, error) { return fileStore(ctx, cfg, std.Env) },
		OpenStore:   func(ctx context.Context) (*store.Store, error) { return appStore(ctx, cfg, dir, ring) },
		InternalURL: serversettings.InternalURL(l.Addr()), WebURL: cfg.Server.PublicURL, AllowedOrigins: cfg.Server.AllowedOrigins,
		TrustedProxy: cfg.Server.Trusts, Certificate: cfg.Server.TLSCertificate, CertificateKey: cfg.Server.TLSKey,
		Spec: first(cfg.Sandbox.Image, cfg.Sandbox.Class), Strategy: sandboxes.Strategy(cfg.Sandbox.Grouping),
		MaxRuns: serversettings.Runs(), MaxRunsOfOwner: cfg.Conversations.MaxPerUser, MaxSandboxes: cfg.Sandbox.MaxPerUser,
		CostlyPerMinute: cfg.Server.CostlyPerMinute,
		SearchKey:       cfg.Conversations.SearchAPIKey,
		IdleTTL:         cfg.Conversations.IdleTimeout, MaxIterations: cfg.Conversations.MaxIterations, MaxCost: cfg.Conversations.MaxBudget,
		Confirm: security.Preset(cfg.Conversations.Confirm),
		Page:    web.Handler(), Model: cfg.LLM.Document(),
		Demo: &conversations.Demo{Title: demo.Task, Unpack: unpackDemo}, Trajectories: trajectories{},
		Version: version, Out: std.Err, Log: log,
	}
	if when := session.CheckpointTimes(cfg.Conversations.Checkpoints); when != session.CheckpointsOff && checkpoint.Available() {
		// Workspaces are below Deft's data, so nothing is excluded.
		o.Checkpoints, o.CheckpointTimes = checkpoint.New(checkpoint.Options{Dir: filepath.Join(paths.store(), "checkpoints")}), when
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

// unpackDemo writes the repository of the demo into a directory, and returns its session.
func unpackDemo(dir string) ([]event.Event, error) {
	if err := demo.Unpack(dir); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "unpack the demo")
	}
	rec, err := demo.Trajectory(dir)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "prepare the demo")
	}
	return openhands.ReadTrajectory(rec)
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
	if class.Open("") && !cfg.Server.Local() {
		return fault.New(fault.Denied, "without a sandbox, commands of agents have your rights on this machine: that is not served to others").
			Hint("use --sandbox " + sandbox.Or(sandboxClasses().Outside().Names()) + ", or listen on 127.0.0.1")
	}
	return nil
}

// placement says how conversations are isolated.
func placement(cfg *config.Config, class sandbox.Class) session.Placement {
	b, c := cfg.Sandbox, cfg.Classes
	p := session.Placement{
		AgentClass: c.Agent, RuntimeClass: c.Runtime, ExecutorClass: c.Executor, SandboxClass: b.Class,
		Network: b.Net, Limits: b.Limits(), Readable: b.Read, Writable: b.Write,
	}
	for name, value := range b.Environment {
		p.Env = append(p.Env, name+"="+value)
	}
	slices.Sort(p.Env)
	if class.Has(sandbox.FeatureImage) {
		p.Container = sandbox.Container{Image: b.Image, Pull: b.Pull, Runtime: b.OCIRuntime, DiskBytes: max(0, int64(b.Disk)), Mounts: b.Mounts}
	}
	if class, err := build.AbsoluteExecutor(p.ExecutorClass); err == nil { // else package build names the mistake
		p.ExecutorClass = class
	}
	return p
}

// replicaAddress is where other servers on the same database reach this one, "" if they
// cannot.
func replicaAddress(s config.Server, at net.Addr, log *slog.Logger) string {
	if s.ReplicaURL != "" {
		return s.ReplicaURL
	}
	own, err := netip.ParseAddrPort(at.String())
	if err != nil || s.TLSCertificate != "" { // a certificate is for a name
		return ""
	}
	if !own.Addr().IsUnspecified() {
		return "http://" + own.String()
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		log.Warn("other servers on the database cannot pass requests on to this one: set server.replica_url", "err", err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return "http://" + net.JoinHostPort(n.IP.String(), strconv.Itoa(int(own.Port())))
		}
	}
	return ""
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

// browserAddress is where a browser reaches the server.
func browserAddress(s config.Server, at net.Addr) string {
	if s.PublicURL != "" {
		return s.PublicURL
	}
	address := serversettings.InternalURL(at)
	if s.TLSCertificate != "" {
		address = strings.Replace(address, "http://", "https://", 1)
	}
	return address
}
