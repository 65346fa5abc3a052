// Package appserver is the App Server, `deft serve`: everything that a user needs on one
// port. It is a client of package session like `deft run`: conversations are run by this
// process, and their actions in sandboxes.
//
// # Usage
//
//	s, err := appserver.New(ctx, appserver.Options{…})
//	code, err := s.NewCode(ctx)        // signs the owner's browser in
//	err = s.Serve(ctx, listener)       // until ctx ends
//
// # Which request is whose
//
// A request with the session key of a sandbox gets the agent-server contract for the
// conversations of that sandbox (agentserver.Scoped); sockets may send the key in their
// first frame. All others get the App Server's own routes, with an API key or a browser's
// session (package signin), or the web page.
//
// # Concurrency and failure
//
// A Server is safe for concurrent use. Acknowledged changes survive its end at any
// moment; the next one continues conversations and start tasks.
package appserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/objectstore"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/mcpserver"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/signin"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/appserver/v1"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/server/ports"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/profiles"
)

// Options have the parts of a Server.
type Options struct {
	// Dir is the server's own directory, Conversations the directory of conversations'
	// data and Settings the directory of the local owner's settings.
	Dir, Conversations, Settings string
	Ring                         *keyring.Ring
	Adapters                     agentserver.Adapters
	// Forges opens Git hosts.
	Forges forge.Opener
	// Renewer renews OAuth tokens of Git hosts; nil for none.
	Renewer forge.Renewer
	// Open opens the backend, OpenStore the tables, and OpenFiles the file store.
	Open      func(ctx context.Context) (*agentserver.Backend, error)
	OpenStore func(ctx context.Context) (*store.Store, error)
	OpenFiles func(ctx context.Context) (FileStore, error)
	// InternalURL is where this machine reaches the server, WebURL where browsers do;
	// empty for the host that they name.
	InternalURL, WebURL string
	// AllowedOrigins are the origins of other pages that may use the server.
	AllowedOrigins []string
	// TrustedProxy reports whether the X-Forwarded headers of a peer count; nil for none.
	TrustedProxy func(netip.Addr) bool
	// Certificate and CertificateKey are files; with them the server speaks HTTPS.
	Certificate, CertificateKey string
	// Spec is the id of the sandbox specification: the class, and the image if it has one.
	Spec     string
	Strategy sandboxes.Strategy
	// Warm opens the pool of sandboxes that wait for conversations; nil for none.
	Warm sandboxes.OpenPool
	// MaxRuns bounds the runs at one time, MaxRunsOfOwner an owner's, and MaxSandboxes
	// the sandboxes of an owner; 0 for no bound.
	MaxRuns, MaxRunsOfOwner, MaxSandboxes int
	// IdleTTL is how long a conversation is kept without use before it is evicted;
	// negative for ever.
	IdleTTL time.Duration
	// MaxIterations and MaxCost, in US dollars, bound conversations whose owner's settings
	// say nothing else; 0 for the default and for no limit.
	MaxIterations int
	MaxCost       float64
	// TryMCP tries an MCP server that is a program, an entry of mcp_config, in a sandbox.
	TryMCP func(ctx context.Context, name string, server json.RawMessage, limit time.Duration) (tools []string, err error)
	// Networks are what commands of a task may reach, by default the first one; none where that is
	// not limited. Network reads another one that a task asks for.
	Networks []string
	Network  func(text string) (sandbox.Network, error)
	// Confirm says which actions wait for users whose settings say nothing else; empty for
	// [security.Never].
	Confirm security.Preset
	// Model is the LLM of owners who have chosen none, as its schema has it; nil for none.
	Model *schema.Map
	// Checkpoints keeps the files of workspaces at CheckpointTimes, for undo and forks; nil
	// for none.
	Checkpoints     *checkpoint.Store
	CheckpointTimes session.CheckpointTimes
	// Local lets conversations work in directories of this machine; nil for not. Worktrees is
	// the directory of Git worktrees.
	Local     *conversations.Local
	Worktrees string
	// Demo is the recorded session that can be replayed; nil for none.
	Demo *conversations.Demo
	// Link connects to the sandbox of a conversation, and AppsDomain ends the host names of
	// its ports (package apps).
	Link       func(ctx context.Context, r session.BuildRequest) (ports.Link, error)
	AppsDomain string
	// Isolations describe the isolation of conversations.
	Isolations v1.Isolations
	// CostlyPerMinute bounds the costly requests of an owner; 0 for no bound.
	CostlyPerMinute int
	// SearchKey is Tavily's, of owners who have none; "" for none.
	SearchKey llm.Secret
	// SignOn has people sign in at an identity provider; the zero value for nobody.
	SignOn signin.SignOn
	// Page serves the web page; nil for none.
	Page    http.Handler
	Version string
	// Out is told when the server is ready, and where.
	Out io.Writer
	Log *slog.Logger
	// Started is called once, when nothing of the start is left to do; nil for nothing.
	Started func()
}

// FileStore keeps archives of workspaces.
type FileStore interface {
	objectstore.Store
	Close() error
}

// baseURL is where the client of a request reaches the server.
func (o Options) baseURL(r *http.Request) string {
	if o.WebURL != "" {
		return strings.TrimSuffix(o.WebURL, "/")
	}
	if o.secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// secure reports whether browsers reach the server over HTTPS.
func (o Options) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(o.WebURL, "https://") || o.WebURL == "" && o.fromProxy(r) && r.Header.Get("X-Forwarded-Proto") == "https"
}

// fromProxy reports whether a request comes from a proxy whose headers count.
func (o Options) fromProxy(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && o.TrustedProxy != nil && o.TrustedProxy(peer.Addr())
}

// peer is the address of a request's client. Of proxies' headers only the part counts
// that a trusted one has seen itself.
func (o Options) peer(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // net/http's own
	peer := at.Addr().Unmap()
	seen := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(seen) {
		before, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || o.TrustedProxy == nil || !o.TrustedProxy(peer) {
			break
		}
		peer = before.Unmap()
	}
	return peer
}

// allowedOrigin reports whether pages of an origin may use the server beside its own.
func (o Options) allowedOrigin(origin string) bool { return slices.Contains(o.AllowedOrigins, origin) }

// allowedHost reports whether browsers may name the server so. A page can point a name of
// its own at this machine (DNS rebinding), but no address.
func (o Options) allowedHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || net.ParseIP(name) != nil {
		return true
	}
	u, err := url.Parse(o.WebURL)
	return err == nil && u.Hostname() != "" && strings.EqualFold(u.Hostname(), name)
}

// Server is the App Server.
type Server struct {
	v    *services
	http http.Server
}

// Limits of requests' heads.
const (
	headTime = 10 * time.Second
	idleTime = 2 * time.Minute
	stopTime = 3 * time.Second
)

// New opens the parts of a server, which does not serve yet.
func New(ctx context.Context, o Options) (*Server, error) {
	o.Log = logOf(o.Log)
	secure, err := certificate(o)
	if err != nil {
		return nil, err
	}
	v, err := openServices(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Server{v: v}
	s.http = http.Server{
		Handler: front{v}, TLSConfig: secure, ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// certificate reads the server's certificate; nil for none.
func certificate(o Options) (*tls.Config, error) {
	if o.Certificate == "" {
		return nil, nil
	}
	c, err := tls.LoadX509KeyPair(o.Certificate, o.CertificateKey)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the certificate and its key cannot be used: "+err.Error()).
			Hint("server.tls_certificate (--tls-cert) names a PEM file with the certificate, server.tls_key (--tls-key) one with its key")
	}
	return &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12}, nil
}

// NewCode returns a code that signs the local owner's browser in, once and soon.
func (s *Server) NewCode(ctx context.Context) (string, error) {
	return s.v.signin.NewCode(ctx, identity.LocalTenant)
}

// Serve continues interrupted work, and serves until ctx ends. Then it closes the
// server.
func (s *Server) Serve(ctx context.Context, l net.Listener) (err error) {
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		served <- rest.Serve(ctx, &s.http, l, stopTime, func() error { s.v.stopSockets(); return nil })
	}()
	watching, stopWatching := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		if err := s.v.sessions.TakeOver(watching); err != nil {
			s.v.o.Log.Error("conversations of servers that end are not taken over", "err", err)
		}
	})
	watch.Go(func() { s.v.sandboxes.Adopt(watching) })
	defer watch.Wait()
	defer stopWatching()
	defer stop()
	resumed, err := s.v.sessions.Resume(ctx)
	if resumed > 0 {
		fmt.Fprintf(s.v.o.Out, "  resumed %d conversations\n", resumed)
	}
	if err == nil {
		err = s.v.jobs.Start(ctx)
	}
	watch.Go(func() { s.v.callbacks.Resume(watching) })
	if err == nil && s.v.warm != nil { // last: it needs the processors for a while
		if err := s.v.warm.Start(ctx); err != nil {
			s.v.o.Log.Warn("sandboxes that an earlier server has left cannot be removed", "err", err)
		}
	}
	if ctx.Err() != nil { // it was told to stop while it began, which is no error
		err = nil
	}
	switch {
	case err != nil:
		stop()
	case s.v.o.Started != nil:
		s.v.o.Started()
	}
	return errors.Join(err, <-served)
}

// Logins returns an owner's logins at MCP servers.
func (s *Server) Logins(ctx context.Context, owner identity.Tenant) (mcplogin.Logins, error) {
	own, err := s.v.owners.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	return own, nil
}

// MCP returns the server's own MCP servers of a conversation.
func (s *Server) MCP(ctx context.Context, owner identity.Tenant, id event.ConversationID) (map[string]http.Handler, error) {
	h, err := s.v.mcp.Handler(ctx, owner, id)
	if err != nil || h == nil {
		return nil, err
	}
	return map[string]http.Handler{mcpserver.Name: h}, nil
}

// LocalProfiles returns the LLM profiles of the local owner.
func (s *Server) LocalProfiles(ctx context.Context) (*profiles.Stores, error) {
	own, err := s.v.owners.Of(ctx, identity.LocalTenant)
	if err != nil {
		return nil, err
	}
	return own.Profiles, nil
}

// Close closes a server that does not serve.
func (s *Server) Close(ctx context.Context) error { return s.v.close(ctx) }
