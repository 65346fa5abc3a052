package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/internal/agentserver"
	"github.com/deft-dev/deft/internal/agentserver/config"
	"github.com/deft-dev/deft/internal/agentserver/deferredinit"
	"github.com/deft-dev/deft/internal/agentserver/info"
	mcproom "github.com/deft-dev/deft/internal/agentserver/mcp"
	"github.com/deft-dev/deft/internal/agentserver/openapi"
	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// capabilities are what clients may count on here.
var capabilities = []string{
	"conversation_runtime_routes_v1", "profile_secret_scope_v1", "profile_persona_v1", "idempotent_conversation_create_v1",
	"tool_catalog_v1", "agent_profile_draft_materialize_v1", "agent_launch_pipeline_v1", "profile_public_skills_v1",
	"skill_catalog_v1",
}

// door is the agent server as clients meet it: what it says about itself, and
// the house behind it, which a server with deferred initialisation opens later.
type door struct {
	std  *streams
	cfg  *config.Loaded
	addr net.Addr
	log  *slog.Logger

	opened  chan struct{} // closed when the house is open
	front   *rest.Server  // answers before that
	details *info.Service
	wait    *deferredinit.Service
	outer   *agentserver.Server                // what listens
	inner   atomic.Pointer[agentserver.Server] // that of the house
	house   atomic.Pointer[house]              // nil while the server waits
}

// newDoor opens nothing yet: it is there at once, so that those who ask how
// the server is are answered while the house is opened.
func newDoor(std *streams, cfg *config.Loaded, addr net.Addr, log *slog.Logger) (d *door, err error) {
	d = &door{std: std, cfg: cfg, addr: addr, log: log, opened: make(chan struct{})}
	if d.details, err = info.New(d.about()); err != nil {
		return nil, err
	}
	docs := openapi.New(openapi.Options{Routes: d.details.Routes(), Version: info.Contract})
	front := slices.Concat(d.details.Routes(), docs.Routes())
	o := deferredinit.Options{Key: cfg.InitKey, Host: cfg.Names, Dormant: front, Log: log}
	if cfg.DeferredInit {
		o.Start = func(ctx context.Context, r deferredinit.Request) (http.Handler, error) { return d.wake(ctx, r) }
	}
	if d.wait, err = deferredinit.New(o); err != nil {
		return nil, err
	}
	outer := http.Handler(d.wait)
	if !cfg.DeferredInit {
		if d.front, err = rest.New(rest.Options{Routes: d.details.Routes(), Keys: cfg.Keys, Origin: cfg.Origin, Log: log}); err != nil {
			return nil, err
		}
		outer = d
	}
	d.outer, err = agentserver.New(agentserver.Options{Handler: outer, Log: log})
	return d, err
}

// open opens the house, unless the server is to wait for the rest of its
// configuration.
func (d *door) open(ctx context.Context) error {
	if d.cfg.DeferredInit {
		fmt.Fprintf(d.std.err, "deft agent-server waits on http://%s for POST /api/init\n", d.addr)
		return nil
	}
	_, err := d.enter(ctx, d.cfg)
	if err == nil {
		close(d.opened)
	}
	return err
}

// ServeHTTP serves a server that does not wait: who asks for /health and the
// like is answered at once, anybody else when the house is open.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := d.inner.Load(); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	switch r.URL.Path {
	case "/health", "/alive", "/ready", "/server_info":
		d.front.ServeHTTP(w, r)
		return
	}
	select {
	case <-d.opened:
		d.inner.Load().ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

func (d *door) about() info.Options {
	o := info.Options{
		Uptime: func() (up, idle time.Duration) {
			if s := d.inner.Load(); s != nil {
				return s.Uptime()
			}
			return 0, 0
		},
		// Who waits for its configuration is ready to be given it.
		Ready:   func() bool { return d.cfg.DeferredInit || d.inner.Load() != nil },
		Version: version, Tools: mcproom.UsableNames(mcproom.Catalogue()), Capabilities: capabilities,
	}
	if d.cfg.StaticFilesPath != nil {
		o.Static = *d.cfg.StaticFilesPath
	}
	return o
}

// wake opens the house with what the configuration lacked.
func (d *door) wake(ctx context.Context, r deferredinit.Request) (*agentserver.Server, error) {
	cfg, err := d.cfg.With(r.Settings)
	if err != nil {
		return nil, err
	}
	for name, value := range r.Env {
		if err := os.Setenv(name, value); err != nil {
			return nil, fmt.Errorf("set the variable %s: %w", name, err)
		}
	}
	return d.enter(ctx, cfg)
}

// enter opens the house and returns the server of its rooms.
func (d *door) enter(ctx context.Context, cfg *config.Loaded) (*agentserver.Server, error) {
	for _, w := range cfg.Warnings {
		d.log.Warn("configuration", "warning", w)
	}
	h, err := openHouse(ctx, cfg, d.addr, d.log)
	if err != nil {
		return nil, err
	}
	s, err := agentserver.New(agentserver.Options{
		Routes: d.routes(h, cfg), Keys: cfg.Keys, Origin: cfg.Origin, Host: cfg.Names, Log: d.log,
	})
	if err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	fmt.Fprintf(d.std.err, "deft agent-server on http://%s\n  conversations in %s\n  %s\n", d.addr, cfg.ConversationsPath, h.isolation())
	resumed, err := h.conversations.Load().Resume(ctx)
	if resumed > 0 {
		fmt.Fprintf(d.std.err, "  went on with %d conversations\n", resumed)
	}
	if err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	d.house.Store(h)
	d.inner.Store(s)
	return s, nil
}

// routes are those of the rooms and what describes them.
func (d *door) routes(h *house, cfg *config.Loaded) []rest.Route {
	rooms := slices.Concat(d.details.Routes(), d.wait.Routes(), h.routes())
	o := openapi.Options{Routes: rooms, Version: info.Contract}
	if cfg.WebURL != nil {
		if u, err := url.Parse(*cfg.WebURL); err == nil && u.Path != "/" {
			o.Path = u.Path
		}
	}
	return slices.Concat(rooms, openapi.New(o).Routes())
}

func (d *door) close(ctx context.Context) error {
	var errs []error
	if h := d.house.Load(); h != nil {
		errs = append(errs, h.close(ctx))
	}
	return errors.Join(append(errs, d.details.Close())...)
}
