package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver"
	"github.com/deft-dev/deft/internal/agentserver/bash"
	"github.com/deft-dev/deft/internal/agentserver/config"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/internal/agentserver/files"
	"github.com/deft-dev/deft/internal/agentserver/git"
	hookroom "github.com/deft-dev/deft/internal/agentserver/hooks"
	mcproom "github.com/deft-dev/deft/internal/agentserver/mcp"
	"github.com/deft-dev/deft/internal/agentserver/plugins"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	settingsroutes "github.com/deft-dev/deft/internal/agentserver/settings"
	"github.com/deft-dev/deft/internal/agentserver/settings/llmlist"
	"github.com/deft-dev/deft/internal/agentserver/skills"
	"github.com/deft-dev/deft/internal/agentserver/socket"
	"github.com/deft-dev/deft/internal/agentserver/subagents"
	"github.com/deft-dev/deft/internal/agentserver/unsupported"
	"github.com/deft-dev/deft/internal/agentserver/webhook"
	"github.com/deft-dev/deft/internal/agentserver/workspacescope"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/internal/settings/workspaces"
	"github.com/deft-dev/deft/internal/spawn"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/spec"
)

// house is the agent server with its rooms.
type house struct {
	cfg  *config.Loaded
	log  *slog.Logger
	url  string // where this machine reaches the server
	home string
	ring *keyring.Ring

	shells        *spawn.Starter
	store         *sqlite.Store
	boxes         *process.Provider
	webhooks      *webhook.Service
	settings      *settings.Service
	skills        *skills.Service
	conversations atomic.Pointer[conversation.Manager] // webhooks ask early
	bash          *bash.Service
	scopes        *bash.Scopes
	sockets       *socket.Service
}

// openHouse opens the rooms, from the ground up.
func openHouse(ctx context.Context, cfg *config.Loaded, addr net.Addr, log *slog.Logger) (_ *house, err error) {
	h := &house{cfg: cfg, log: log, url: config.InternalURL(addr)}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close(context.WithoutCancel(ctx)))
		}
	}()
	h.home, _ = os.UserHomeDir() // a user without one has no skills of his own
	if h.ring, err = cfg.Ring(); err != nil {
		return nil, err
	}
	if h.shells, err = spawn.New(); err != nil {
		log.Debug("shells are started from a thread with all descriptors", "err", err)
	}
	if h.store, err = sqlite.Open(ctx, cfg.ConversationsPath, sqlite.Options{}); err != nil {
		return nil, err
	}
	if cfg.Sandbox == config.SandboxProcess {
		h.boxes, err = openBoxes(filepath.Join(cfg.ConversationsPath, "sandboxes"), cfg.PersistenceDir, cfg.ConversationsPath)
		if err != nil {
			return nil, err
		}
	}
	for _, open := range []func(context.Context) error{
		h.openWebhooks, h.openSettings, h.openConversations, h.openBash, h.openSockets,
	} {
		if err := open(ctx); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (h *house) openWebhooks(context.Context) error {
	if len(h.cfg.Webhooks) == 0 {
		return nil
	}
	cursors, err := webhook.OpenFile(filepath.Join(h.cfg.ConversationsPath, "webhooks.json"))
	if err != nil {
		return err
	}
	h.webhooks, err = webhook.New(webhook.Options{
		Endpoints: h.cfg.Webhooks, Stream: h.store, Cursors: cursors, Log: h.log,
		Describe: h.describe,
		Key: func() string {
			if keys := h.cfg.Keys(); len(keys) > 0 {
				return keys[0]
			}
			return ""
		},
	})
	return err
}

// describe returns the description of a conversation, once they are open.
func (h *house) describe(ctx context.Context, id event.ConversationID) (json.RawMessage, error) {
	if m := h.conversations.Load(); m != nil {
		return m.Summary(ctx, id)
	}
	return nil, fault.New(fault.Unavailable, "the conversations are not open yet")
}

// stream is where conversations write: through the webhooks, if there are any.
func (h *house) stream() eventstream.Stream {
	if h.webhooks != nil {
		return h.webhooks.Stream()
	}
	return h.store
}

func (h *house) openSettings(ctx context.Context) (err error) {
	h.skills = skills.New(skills.Options{
		Home: h.home, Persistence: h.cfg.PersistenceDir, Public: os.Getenv("EXTENSIONS_PATH"), Log: h.log,
	})
	h.settings, err = settings.Open(ctx, settings.Options{
		Dir: h.cfg.PersistenceDir, Keys: h.ring, Ping: spec.Pinger(route.New), Log: h.log, Usable: usableTool,
		Skills: h.skills.ProfileSkills, PublicSkills: h.skills.PublicNames,
	})
	return err
}

func (h *house) openConversations(context.Context) (err error) {
	fit := &outfitter{
		dir: h.cfg.ConversationsPath, env: commandEnv(os.Environ()), log: h.log, boxes: h.boxes, shells: h.shells,
		profiles: func(ctx context.Context) []string {
			names, err := h.settings.Profiles.LLMs.Names(ctx)
			if err != nil {
				h.log.Warn("list LLM profiles", "err", err)
			}
			return names
		},
	}
	models := wireModels{broker.NewBreakers(broker.BreakerOptions{}), h.log}
	l := launcher{h.settings, h.ring}
	o := conversation.Options{
		Stream: h.stream(), Dir: h.cfg.ConversationsPath, Ring: h.ring, Log: h.log,
		Resolve: l.resolve, LLM: l.llm, Profile: l.profile, Model: models.open, Outfit: fit.outfit,
		Modules: toolModules, CheckClientTool: checkClientTool, Server: h.url, Lookup: h.lookup,
		UserSkills: userSkillDirs(h.home, h.cfg.PersistenceDir),
		Repository: worktree.Init,
		Worktree:   h.addWorktree, DropWorktree: dropWorktree, MaxRuns: h.cfg.MaxConcurrentRuns, IdleTTL: -1,
	}
	if ttl := h.cfg.ConversationIdleTTLSeconds; ttl != nil {
		o.IdleTTL = time.Duration(*ttl * float64(time.Second))
	}
	o.Deleted = h.forget
	if h.webhooks != nil {
		o.Changed, o.Shown, o.Deliver = h.webhooks.Tell, h.webhooks.Show, h.webhooks.Flush
	}
	m, err := conversation.Open(o)
	h.conversations.Store(m)
	return err
}

// forget ends what is there for a conversation that is deleted.
func (h *house) forget(ctx context.Context, id event.ConversationID) error {
	err := h.scopes.Drop(ctx, id.Hex())
	if h.boxes != nil {
		err = errors.Join(err, h.boxes.Remove(ctx, id.Hex()))
	}
	return err
}

func (h *house) openBash(context.Context) (err error) {
	o := bash.Options{Dir: h.cfg.BashEventsDir, Log: h.log}
	if s := h.cfg.BashEventsRetentionSeconds; s != nil {
		o.Retention = time.Duration(*s) * time.Second
	}
	if h.bash, err = bash.Open(o); err != nil {
		return err
	}
	scoped := bash.ScopeOptions{
		Options: o, Dir: func(id string) string { return filepath.Join(h.cfg.ConversationsPath, id, "bash_events") },
	}
	if h.boxes != nil {
		scoped.Runner = func(s workspacescope.Scope) bash.Runner { return boxed{h, s.ID} }
	}
	h.scopes = bash.NewScopes(scoped)
	return nil
}

func (h *house) openSockets(context.Context) error {
	h.sockets = socket.New(socket.Options{
		Find: agentserver.Followed(h.conversations.Load()), Bash: h.bash,
		Keys: h.cfg.Keys, Origin: h.cfg.Origin, Log: h.log,
	})
	return nil
}

// routes are those of all rooms.
func (h *house) routes() []rest.Route {
	of := workspacescope.WorkspaceOf(func(ctx context.Context, id string) (string, error) {
		cid, ok := event.ParseConversationID(id)
		if !ok {
			return "", fault.New(fault.NotFound, "Conversation not found: "+id)
		}
		c, err := h.conversations.Load().Get(ctx, cid)
		if err != nil {
			return "", err
		}
		return filepath.Abs(c.Workspace())
	})
	f := files.New(files.Options{WorkspaceOf: of, Trajectory: h.trajectory, Home: h.home})
	g := git.New(git.Options{Secret: h.storedSecret})
	return slices.Concat(
		h.conversations.Load().Routes(), h.sockets.Routes(), settingsroutes.Routes(h.settings, h.log),
		settingsroutes.Workspaces(workspaces.New(filepath.Join(h.cfg.ConversationsPath, "..", ".openhands"))),
		llmlist.New(catalog.Default(), route.Prefixes()).Routes(),
		h.bash.Routes(), h.scopes.Routes(of), f.Routes(), f.ScopedRoutes(of), g.Routes(), g.ScopedRoutes(of),
		h.skills.Routes(), hookroom.Routes(h.log),
		plugins.New(plugins.Options{Home: h.home, Persistence: h.cfg.PersistenceDir, Log: h.log}).Routes(),
		subagents.New(subagents.Options{Home: h.home, Persistence: h.cfg.PersistenceDir, Log: h.log}).Routes(),
		h.openGateway().Routes(),
		mcproom.New(mcproom.Options{Probe: probeServer, Keys: h.ring, Tools: mcproom.Catalogue()}).Routes(),
		unsupported.Extensions(), unsupported.Routes(unsupported.Options{Find: func(ctx context.Context, id string) error { _, err := of(ctx, id); return err }}),
	)
}

// isolation says where what agents run, runs.
func (h *house) isolation() string {
	if h.boxes == nil {
		return "isolation: none: agents work where this server stands, which should be a sandbox itself (or --sandbox process)"
	}
	return "isolation: a sandbox around the workspace of each conversation"
}

// close closes the rooms, from the top down.
func (h *house) close(ctx context.Context) error {
	var errs []error
	if h.sockets != nil {
		h.sockets.Close()
	}
	if m := h.conversations.Load(); m != nil {
		errs = append(errs, m.Close(ctx))
	}
	if h.scopes != nil {
		errs = append(errs, h.scopes.Close())
	}
	if h.bash != nil {
		errs = append(errs, h.bash.Close())
	}
	if h.webhooks != nil {
		end, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		errs = append(errs, h.webhooks.Close(end))
	}
	if h.boxes != nil {
		errs = append(errs, h.boxes.Close())
	}
	h.shells.Close()
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	return errors.Join(errs...)
}
