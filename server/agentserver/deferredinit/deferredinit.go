// Package deferredinit lets a server wait for its configuration: it starts
// early and answers 503 to nearly everything, until POST /api/init sends keys and
// directories (docs/openhands/sdk-wire.md section 3). Pools keep such servers
// ready.
//
// # Usage
//
//	s, err := deferredinit.New(deferredinit.Options{
//		Key: conf.InitKey, Dormant: details.Routes(),
//		Start: func(ctx context.Context, r deferredinit.Request) (http.Handler, error) {
//			merged, err := conf.With(r.Settings)
//			…
//			return agentserver.New(…), nil // its routes hold s.Routes() too
//		},
//	})
//	http.Serve(listener, s)
//
// Without a Start the routes say that the server does not wait.
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. One request initialises the server; the
// others get its state. If Start fails, another attempt may follow.
package deferredinit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/rest"
)

// Header carries the key of /api/init.
const Header = "X-Init-API-Key"

// Request is the body of POST /api/init.
type Request struct {
	// Settings are by the names of config.Deferred, for config's With.
	Settings map[string]any
	// Env are variables for the commands of agents. Their values may be
	// secrets.
	Env map[string]string
}

// Options configure a service.
type Options struct {
	// Key returns the key of POST /api/init; open needs none.
	Key func() (key string, open bool)
	// Dormant are routes that answer before that, beside the routes of this package.
	Dormant []rest.Route
	// Start makes the server's handler. An error of kind fault.Invalid or
	// fault.Denied is answered with 422. Nil for a server that does not wait.
	Start func(ctx context.Context, r Request) (http.Handler, error)
	// Host reports whether a name is one of this machine; others are refused
	// while no key is needed: a page could have pointed its own name at this
	// machine (DNS rebinding). Nil for all.
	Host func(host string) bool
	// Peer refuses other users of this machine while no key is needed; nil for none.
	Peer func(r *http.Request) error
	Log  *slog.Logger
}

// The states of a server.
const (
	Dormant      = "dormant"
	Initializing = "initializing"
	Ready        = "ready"
)

// State is the answer of /api/init.
type State struct {
	State string  `json:"state"`
	Error *string `json:"error"`
}

// Service serves 503 until it is initialised. Make one with [New].
type Service struct {
	o     Options
	early http.Handler // before the initialisation
	ready atomic.Pointer[http.Handler]

	mu    sync.Mutex
	state State
}

// New returns a service.
func New(o Options) (*Service, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Service{o: o, state: State{State: Dormant}}
	notReady := rest.Route{Path: "/", Scope: rest.Checked, Limit: rest.NoBody, Trusted: rest.DefaultBody, Dormant: true, Hidden: true, Handle: s.notReady}
	early, err := rest.New(rest.Options{
		Routes: slices.Concat(o.Dormant, s.Routes(), []rest.Route{notReady}),
		Keys:   func() []string { return nil }, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	s.early = early
	return s, nil
}

// Ready reports whether the server is initialised.
func (s *Service) Ready() bool { return s.o.Start == nil || s.ready.Load() != nil }

// ServeHTTP implements [http.Handler]. It calls the handler that Start made, once
// there is one.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := s.ready.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	s.early.ServeHTTP(w, r)
}

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/api/init", Tag: "Init", Scope: rest.Checked, Limit: rest.NoBody, Dormant: true, Handle: s.get},
		{Method: "POST", Path: "/api/init", Tag: "Init", Scope: rest.Checked, Limit: rest.MaxPublicBody, Trusted: rest.DefaultBody, Audited: true, Dormant: true, Handle: s.post},
	}
}

func (s *Service) snapshot() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// notReady answers all other requests; sockets before their handshake. It is no
// failure, so nothing is logged.
func (s *Service) notReady(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusServiceUnavailable, map[string]string{
		"detail":    http.StatusText(http.StatusInternalServerError),
		"exception": "503: server is in deferred-init state '" + s.snapshot().State + "'; call POST /api/init first",
	})
}

func (s *Service) offered() error {
	if s.o.Start == nil {
		return rest.Fail(http.StatusNotFound,
			"server is not running with deferred_init=True; the /api/init endpoint is not available")
	}
	return nil
}

func (s *Service) get(w http.ResponseWriter, _ *http.Request) error {
	if err := s.offered(); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, s.snapshot())
}

func (s *Service) post(w http.ResponseWriter, r *http.Request) error {
	if err := s.allowed(r); err != nil {
		return err
	}
	if err := s.offered(); err != nil {
		return err
	}
	rest.Trust(r)
	req, err := read(r)
	if err != nil {
		return err
	}
	if err := s.initialise(r.Context(), req); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, s.snapshot())
}

// allowed checks the key in constant time.
func (s *Service) allowed(r *http.Request) error {
	key, open := s.o.Key()
	got, want := sha256.Sum256([]byte(r.Header.Get(Header))), sha256.Sum256([]byte(key))
	if open && s.o.Host != nil && !s.o.Host(r.Host) {
		return rest.Fail(http.StatusForbidden, "This server has no key and answers only to names of this machine")
	}
	if open && s.o.Peer != nil {
		if err := s.o.Peer(r); err != nil {
			return err
		}
	}
	if open || key != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
		return nil
	}
	return rest.Fail(http.StatusUnauthorized, "Unauthorized")
}

// initialise starts the server. It goes on when the client leaves.
func (s *Service) initialise(ctx context.Context, req Request) error {
	s.mu.Lock()
	if s.state.State != Dormant {
		defer s.mu.Unlock()
		return rest.Fail(http.StatusBadRequest, "server already in state: "+s.state.State)
	}
	s.state = State{State: Initializing}
	s.mu.Unlock()

	h, err := s.o.Start(context.WithoutCancel(ctx), req)

	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		text := err.Error()
		s.state = State{State: Dormant, Error: &text}
		if fault.Is(err, fault.Invalid) || fault.Is(err, fault.Denied) {
			if hint := fault.HintOf(err); hint != "" {
				text += ": " + hint
			}
			return schema.Invalid(text, nil, "body")
		}
		return &rest.Error{Status: http.StatusInternalServerError, Detail: text}
	}
	s.ready.Store(&h)
	s.state = State{State: Ready}
	return nil
}

// bodySchema describes a request. Package config checks the settings.
var bodySchema = func() *schema.Object {
	o := &schema.Object{Extra: schema.Forbid, Fields: []schema.Field{{Name: "env", Type: schema.Opt(schema.Guarded{
		First: checkEnv, Of: schema.Dict{Of: schema.String{}},
	})}}}
	for _, name := range config.Deferred {
		o.Fields = append(o.Fields, schema.Field{Name: name, Type: schema.Any{}, MayBeAbsent: true})
	}
	return o
}()

func checkEnv(v any) error {
	env, _ := v.(*schema.Map)
	for _, name := range env.Keys() {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(env.Text(name), "\x00") {
			return errors.New("env has an invalid name or value of a variable")
		}
	}
	return nil
}

// read reads the request. Unknown fields are refused.
func read(r *http.Request) (req Request, err error) {
	m, err := rest.BodyAs(r, bodySchema)
	if err != nil {
		return req, err
	}
	var body struct {
		Env map[string]string `json:"env"`
	}
	if err := schema.Into(m, &body); err != nil {
		return req, err
	}
	m.Delete("env")
	raw, err := schema.Encode(m)
	if err != nil {
		return req, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	req = Request{Env: body.Env, Settings: map[string]any{}}
	if err := d.Decode(&req.Settings); err != nil {
		return req, err
	}
	if keys, ok := req.Settings["session_api_keys"].([]any); ok && slices.ContainsFunc(keys, blank) {
		return req, rest.Fail(http.StatusUnprocessableEntity, "session_api_keys cannot contain empty keys")
	}
	return req, nil
}

func blank(key any) bool {
	s, ok := key.(string)
	return ok && strings.TrimSpace(s) == ""
}
