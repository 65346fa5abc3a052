// Package runtimeapi serves the Runtime API of OpenHands: clients start, pause, resume and
// stop runtimes with it, and reach the server in each of them through it.
//
// # Usage
//
//	s, err := runtimeapi.New(runtimeapi.Options{Keys: keys, …})
//	err = s.Serve(ctx, listener)
//
// Package registry, below this one, holds the runtimes and knows no HTTP; package store
// keeps them. The contract comes from its clients (openhands-ai 0.62.0:
// remote_runtime.py, remote_sandbox_service.py, builder/remote.py; openhands-workspace
// 1.58.0: APIRemoteWorkspace).
//
// # Concurrency and failure
//
// A Server is safe for concurrent use. Errors are answers {"detail": text} with the status
// of their fault kind. A request to a runtime that does not run is answered with 503, on
// which clients resume it; one that its server does not answer, with 502.
package runtimeapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/runtimeapi/builds"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
)

// Time limits of clients.
const (
	headTime = 10 * time.Second
	bodyTime = 30 * time.Second
	idleTime = 2 * time.Minute
	stopTime = 5 * time.Second // for requests under way at the end
)

const (
	maxHead = 64 << 10
	maxBody = 1 << 20
)

// Options configure a Server.
type Options struct {
	// Keys that clients show as X-API-Key. Required.
	Keys []Key
	// Registry holds the runtimes. Required.
	Registry *registry.Registry
	// Addresses are the registry's addresses. Required.
	Addresses *Addresses
	// Images lists the images to start from; nil if the sandboxes have none.
	Images Images
	// Builds builds images; nil if the sandboxes have none.
	Builds *builds.Queue
	// RegistryPrefix begins the names of built images, before the name of the key.
	RegistryPrefix string
	Log            *slog.Logger
}

// Images looks images up.
type Images interface {
	// FindImage returns when an image was made and its size. NotFound if it is not there
	// without being fetched.
	FindImage(ctx context.Context, name string) (created time.Time, bytes int64, err error)
}

// Server serves the Runtime API.
type Server struct {
	o   Options
	mux *http.ServeMux
}

// handler answers a request of the holder of a key.
type handler func(*http.Request, Key) (any, error)

// New returns a Server.
func New(o Options) (*Server, error) {
	if len(o.Keys) == 0 || o.Registry == nil || o.Addresses == nil {
		return nil, fault.New(fault.Invalid, "a Runtime API needs keys, a registry and addresses")
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Server{o: o, mux: http.NewServeMux()}
	o.Addresses.serve(s)
	for pattern, handle := range map[string]handler{
		"POST /start":          s.start,
		"POST /stop":           s.change(o.Registry.Stop),
		"POST /pause":          s.change(o.Registry.Pause),
		"POST /resume":         s.change(o.Registry.Resume),
		"GET /list":            s.list,
		"GET /sessions/{id}":   s.show(o.Registry.Session),
		"GET /sessions/batch":  s.batch,
		"GET /runtime/{id}":    s.show(o.Registry.Get),
		"GET /registry_prefix": s.registryPrefix,
		"GET /image_exists":    s.imageExists,
		"GET /build_status":    s.buildStatus,
		"GET /build_log":       s.buildLog,
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.handle(w, r, handle) })
	}
	s.mux.HandleFunc("POST /build", s.build)
	s.mux.HandleFunc("GET /metrics", s.metrics)
	s.mux.HandleFunc("GET /alive", s.alive)
	s.mux.HandleFunc("GET /health", s.alive)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.answer(w, http.StatusNotFound, detail("Not Found"))
	})
	return s, nil
}

// Serve serves until ctx ends. Runtimes run on.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	err := rest.Serve(ctx, newHTTPServer(s, s.o.Log), l, stopTime, nil)
	return errors.Join(err, s.o.Addresses.close())
}

func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id, skip, ok := s.o.Addresses.match(r); ok {
		s.proxy(w, r, id, skip)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// handle answers a request of the contract.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, do handler) {
	key, ok := s.key(w, r)
	if !ok {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // not all connections have one
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	got, err := do(r, key)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.answer(w, http.StatusOK, got)
}

// key returns the client's key, or answers that it has none.
func (s *Server) key(w http.ResponseWriter, r *http.Request) (Key, bool) {
	key, ok := find(s.o.Keys, r.Header.Get("X-API-Key"))
	if !ok {
		s.answer(w, http.StatusUnauthorized, detail("X-API-Key is missing or wrong"))
	}
	return key, ok
}

func (s *Server) alive(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

func detail(text string) map[string]string { return map[string]string{"detail": text} }

// refuse answers with an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		s.answer(w, http.StatusRequestEntityTooLarge, detail("the request is too large"))
		return
	}
	kind := fault.KindOf(err)
	text := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		text += ": " + hint
	}
	if kind == fault.Internal {
		s.o.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if kind == fault.RateLimit {
		w.Header().Set("Retry-After", "10")
	}
	s.answer(w, kind.HTTPStatus(), detail(text))
}

func (s *Server) answer(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		s.o.Log.Error("answer", "err", err)
		status, raw = http.StatusInternalServerError, []byte(`{"detail":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write(raw); err != nil {
		s.o.Log.Debug("the client has disconnected", "err", err)
	}
}

// decode reads the body of a request.
func decode(r *http.Request, to any) error {
	d := json.NewDecoder(r.Body)
	if err := d.Decode(to); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok || fault.KindOf(err) != fault.Internal {
			return err
		}
		return fault.New(fault.Invalid, "the body is not the JSON object that is expected: "+strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
