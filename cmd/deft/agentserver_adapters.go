package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver"
	"github.com/deft-dev/deft/internal/agentserver/config"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	mcproutes "github.com/deft-dev/deft/internal/agentserver/mcp"
	"github.com/deft-dev/deft/internal/conversationlock"
	"github.com/deft-dev/deft/internal/settings/profiles"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/tool/client"
	"github.com/deft-dev/deft/tool/mcp"
	"github.com/deft-dev/deft/tool/terminal"
)

// adapters implements [agentserver.Adapters] with what this program links.
type adapters struct {
	log     *slog.Logger
	classes build.Classes
}

// Open implements [agentserver.Adapters].
func (a adapters) Open(ctx context.Context, cfg *config.Loaded) (_ *agentserver.Backend, err error) {
	ring, err := cfg.Ring()
	if err != nil {
		return nil, err
	}
	saved := profiles.Open(profiles.Options{Dir: cfg.PersistenceDir, Keys: ring, Log: a.log})
	b := &agentserver.Backend{Models: profileModels{
		build.NewModels(a.log), func() (*profiles.Stores, error) { return saved, nil },
		broker.NewBreakers(broker.BreakerOptions{Failures: failures}),
	}}
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
	store, err := sqlite.Open(ctx, cfg.ConversationsPath, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	b.Store = store
	closers = append(closers, store.Close)
	o := build.Options{Dir: cfg.ConversationsPath, Hidden: cfg.Private(), Store: store, Shells: shells, Classes: a.classes, Log: a.log}
	o.Defaults = session.Placement{SandboxClass: build.NoSandbox, Network: cfg.Net, Limits: cfg.Limits, Readable: cfg.Readable, Writable: cfg.Writable}
	if cfg.Sandbox == config.SandboxProcess {
		o.Defaults.SandboxClass = build.ProcessSandbox
	}
	if cfg.Sandbox == config.SandboxRemote {
		o.Defaults.SandboxClass, o.Defaults.Container = build.RemoteSandbox, cfg.Container
	}
	containers := containersOf(cfg, o.Defaults)
	if cfg.Sandbox == config.SandboxDocker {
		o.Defaults = containers.Docker
	}
	o.Defaults = build.FromEnvironment(o.Defaults, os.Getenv)
	builder, err := build.New(o)
	if err != nil {
		return nil, err
	}
	b.Builder, b.Orphans = builder, builder
	if containers != nil {
		containers.Sandboxes, b.Containers = builder, containers
	}
	closers = append(closers, builder.Close)
	if b.Sandboxed = o.Defaults.SandboxClass != build.NoSandbox; b.Sandboxed { // what is wrong with it is said at the start
		if err := makeHidden(cfg, a.log); err != nil {
			return nil, err
		}
		if _, err = builder.Sandboxes(o.Defaults.SandboxClass, o.Defaults.Isolation); err != nil {
			return nil, err
		}
	}
	b.Lock, err = conversationlock.Open(cfg.ConversationsPath)
	return b, err
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
		c.Local.SandboxClass = build.ProcessSandbox
	}
	c.Docker.SandboxClass, c.Docker.Container, c.Docker.Limits = build.DockerSandbox, cfg.Container, cfg.ContainerLimits
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
	got, err := mcp.Probe(ctx, p.Name, s, build.HostPrograms(""), p.Limit, p.Tool, p.Arguments)
	return mcproutes.Result(got), err
}

// CheckClientTool implements [agentserver.Adapters].
func (adapters) CheckClientTool(raw json.RawMessage) (name string, err error) {
	var s client.Spec
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", schema.Invalid(err.Error(), nil, "body", "client_tools")
	}
	return s.Name, nil
}

// Export implements [agentserver.Adapters].
func (adapters) Export(ctx context.Context, store eventstream.Stream, id event.ConversationID, dir string) (string, error) {
	return openhands.Export(ctx, store, id, dir)
}
