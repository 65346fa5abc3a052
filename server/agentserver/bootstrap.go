// Package agentserver is the Agent Server: OpenHands' REST and WebSocket contract
// over the session layer (docs/openhands/sdk-wire.md,
// docs/openhands/sdk-wire-1.58.md). The packages below it serve one area each;
// this one opens their shared services and puts them behind one listener.
//
// # Usage
//
//	s, err := agentserver.New(agentserver.Options{Config: cfg, Adapters: adapters, Addr: l.Addr(), …})
//	err = s.Serve(ctx, l)
//
// # Concurrency and failure
//
// A Server serves any number of connections. Serve ends when its context does:
// it stops accepting, waits a moment for requests under way, and closes the
// rest. A client that sends its request too slowly is cut off.
package agentserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/internal/peer"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/agentserver/deferredinit"
	"github.com/deft-dev/deft/server/agentserver/info"
	"github.com/deft-dev/deft/server/agentserver/mcp"
	"github.com/deft-dev/deft/server/agentserver/openapi"
	"github.com/deft-dev/deft/server/rest"
)

// capabilities are the server's features for clients.
var capabilities = []string{
	"conversation_runtime_routes_v1", "profile_secret_scope_v1", "profile_persona_v1", "idempotent_conversation_create_v1",
	"tool_catalog_v1", "agent_profile_draft_materialize_v1", "agent_launch_pipeline_v1", "profile_public_skills_v1",
	"skill_catalog_v1",
}

// Options have the parts of a [Server]. All are required.
type Options struct {
	Config   *config.Loaded
	Adapters Adapters
	// Addr is the address at which the server listens.
	Addr    net.Addr
	Version string
	// Out is told when the server is ready, and where.
	Out io.Writer
	Log *slog.Logger
	// Started is called once, when nothing of the start is left to do but the work of a
	// deferred initialisation; nil for nothing.
	Started func()
}

// Server is the Agent Server. It answers how it is at once; everything else
// waits until its services are open, which a server with deferred
// initialisation opens when it gets the rest of its configuration.
type Server struct {
	o        Options
	opened   chan struct{} // closed when the services are open
	status   *rest.Server  // answers before that
	details  *info.Service
	deferred *deferredinit.Service
	listener *httpServer
	ready    atomic.Pointer[httpServer] // with all routes
	services atomic.Pointer[services]   // nil before they are open
}

// New returns a server whose services are not open yet.
func New(o Options) (s *Server, err error) {
	s = &Server{o: o, opened: make(chan struct{})}
	if s.details, err = info.New(s.about()); err != nil {
		return nil, err
	}
	cfg := o.Config
	docs := openapi.New(openapi.Options{Routes: s.details.Routes(), Version: info.Contract})
	d := deferredinit.Options{
		Key: cfg.InitKey, Host: cfg.Names, Peer: peer.Check, Dormant: slices.Concat(s.details.Routes(), docs.Routes()), Log: o.Log,
	}
	if cfg.DeferredInit {
		d.Start = func(ctx context.Context, r deferredinit.Request) (http.Handler, error) { return s.initialize(ctx, r) }
	}
	if s.deferred, err = deferredinit.New(d); err != nil {
		return nil, err
	}
	handler := http.Handler(s.deferred)
	if !cfg.DeferredInit {
		s.status, err = rest.New(rest.Options{Routes: s.details.Routes(), Keys: cfg.Keys, Origin: cfg.Origin, Peer: peer.Check, Log: o.Log})
		if err != nil {
			return nil, err
		}
		handler = http.HandlerFunc(s.serveWhenOpen)
	}
	s.listener = newHTTPServer(handler, o.Log)
	return s, nil
}

// Serve opens the services and serves until ctx ends; then it closes them.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- s.listener.Serve(ctx, l) }()
	err := s.open(ctx)
	switch {
	case err != nil:
		stop()
	case s.o.Started != nil:
		s.o.Started()
	}
	err = errors.Join(err, <-served)
	return errors.Join(err, s.close(context.WithoutCancel(ctx)))
}

// open opens the services, unless the server waits for the rest of its
// configuration.
func (s *Server) open(ctx context.Context) error {
	if s.o.Config.DeferredInit {
		fmt.Fprintf(s.o.Out, "deft agent-server waits on http://%s for POST /api/init\n", s.o.Addr)
		return nil
	}
	_, err := s.openServices(ctx, s.o.Config)
	if err == nil {
		close(s.opened)
	}
	return err
}

// serveWhenOpen answers requests for the server's status at once, and all
// others when the services are open.
func (s *Server) serveWhenOpen(w http.ResponseWriter, r *http.Request) {
	if h := s.ready.Load(); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	if _, ok := s.status.Find(r); ok {
		s.status.ServeHTTP(w, r)
		return
	}
	select {
	case <-s.opened:
		s.ready.Load().ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

func (s *Server) about() info.Options {
	cfg := s.o.Config
	o := info.Options{
		Uptime: func() (up, idle time.Duration) {
			if h := s.ready.Load(); h != nil {
				return h.Uptime()
			}
			return 0, 0
		},
		// A server that waits for its configuration is ready to take it.
		Ready:   func() bool { return cfg.DeferredInit || s.ready.Load() != nil },
		Version: s.o.Version, Tools: mcp.UsableNames(mcp.Catalogue()), Capabilities: capabilities,
		Runtime: cfg.ConversationRuntime,
	}
	if cfg.ConversationRuntimeSelectable {
		o.Runtimes = []string{config.RuntimeLocal, config.RuntimeDocker}
	}
	if cfg.StaticFilesPath != nil {
		o.Static = *cfg.StaticFilesPath
	}
	return o
}

// initialize opens the services with the missing part of the configuration.
func (s *Server) initialize(ctx context.Context, r deferredinit.Request) (*httpServer, error) {
	cfg, err := s.o.Config.With(r.Settings)
	if err != nil {
		return nil, err
	}
	for name, value := range r.Env {
		if err := os.Setenv(name, value); err != nil {
			return nil, fmt.Errorf("set the variable %s: %w", name, err)
		}
	}
	return s.openServices(ctx, cfg)
}

// openServices opens the services of a configuration, resumes interrupted runs,
// and returns the server of all routes.
func (s *Server) openServices(ctx context.Context, cfg *config.Loaded) (*httpServer, error) {
	for _, w := range cfg.Warnings {
		s.o.Log.Warn("configuration", "warning", w)
	}
	v, err := openServices(ctx, cfg, s.o.Adapters, s.o.Addr, s.o.Log)
	if err != nil {
		return nil, err
	}
	h, err := newRouteServer(rest.Options{
		Routes: s.routes(v, cfg), Keys: cfg.Keys, Origin: cfg.Origin, Host: cfg.Names, Peer: peer.Check, Log: s.o.Log,
	})
	if err != nil {
		return nil, errors.Join(err, v.close(context.WithoutCancel(ctx)))
	}
	fmt.Fprintf(s.o.Out, "deft agent-server on http://%s\n  conversations in %s\n  %s\n", s.o.Addr, cfg.ConversationsPath, v.isolation())
	v.removeOrphans(ctx)
	resumed, err := v.sessions.Load().Resume(ctx)
	if resumed > 0 {
		fmt.Fprintf(s.o.Out, "  resumed %d conversations\n", resumed)
	}
	if err != nil {
		return nil, errors.Join(err, v.close(context.WithoutCancel(ctx)))
	}
	v.startArchiving()
	s.services.Store(v)
	s.ready.Store(h)
	return h, nil
}

// routes are the routes of the services and of their description.
func (s *Server) routes(v *services, cfg *config.Loaded) []rest.Route {
	all := slices.Concat(s.details.Routes(), s.deferred.Routes(), v.routes())
	o := openapi.Options{Routes: all, Version: info.Contract}
	if cfg.WebURL != nil {
		if u, err := url.Parse(*cfg.WebURL); err == nil && u.Path != "/" {
			o.Path = u.Path
		}
	}
	return slices.Concat(all, openapi.New(o).Routes())
}

func (s *Server) close(ctx context.Context) error {
	var errs []error
	if v := s.services.Load(); v != nil {
		errs = append(errs, v.close(ctx))
	}
	return errors.Join(append(errs, s.details.Close())...)
}
