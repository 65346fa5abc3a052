package rest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
)

// Options configure a server. The functions are called for each request and may
// answer differently over time: a deferred initialisation sets keys and origins
// later.
type Options struct {
	Routes []Route
	// Keys returns the keys that clients must send; without any the server is
	// open.
	Keys func() []string
	// Caller is who sends one of Keys; without scopes the one user of the server, who may
	// do everything.
	Caller identity.Caller
	// Authenticate takes the place of Keys: it returns who sends a request, or why it is
	// refused. It is not called for Public and Checked routes. Nil for Keys.
	Authenticate func(r *http.Request) (identity.Caller, error)
	// SameOrigin says that only pages of the server itself may use it, not even pages of
	// other servers of this machine.
	SameOrigin bool
	// Origin reports whether a page of this origin may use the server with
	// credentials, beside pages of this machine; nil for none.
	Origin func(origin string) bool
	// Host reports whether a server without keys answers requests to a host, as
	// browsers send it; nil for any. It refuses pages whose name was pointed at
	// this machine (DNS rebinding), which to the browser have the server's own
	// origin.
	Host func(host string) bool
	// Peer is asked, while there are no keys, whether a request's sender may use the server
	// (package peer); nil for everybody.
	Peer func(r *http.Request) error
	// Costly is asked for each admitted request of a costly route, and says how long its
	// sender has to wait before it may send one; nil for never.
	Costly func(r *http.Request) time.Duration
	// Seen is called for each admitted request, for the idle time; may be nil.
	Seen func()
	Log  *slog.Logger
}

// Server is the handler of all routes.
type Server struct {
	mux    *http.ServeMux
	routes map[string]Route // by their patterns
	first  map[string]bool  // parts with which the paths of routes begin
	o      Options
}

// New returns the handler. Two routes with one pattern are an error.
func New(o Options) (s *Server, err error) {
	s = &Server{mux: http.NewServeMux(), routes: map[string]Route{}, first: map[string]bool{}, o: o}
	s.o.Log = cmp.Or(s.o.Log, slog.New(slog.DiscardHandler))
	if s.o.Caller.Scopes == nil {
		s.o.Caller = identity.Local()
	}
	defer func() {
		if p := recover(); p != nil { // net/http refuses a pattern by a panic
			err = fmt.Errorf("route: %v", p)
		}
	}()
	for _, r := range o.Routes {
		if err := r.check(); err != nil {
			return nil, err
		}
		s.mux.Handle(r.Pattern(), s.handler(r))
		s.routes[r.Pattern()] = r
		s.first[firstPart(r.Path)] = true
	}
	return s, nil
}

// firstPart is the first part of a path: "/api" of "/api/things", "/" of "/".
func firstPart(path string) string {
	part, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + strings.TrimSuffix(part, "{$}")
}

// Owns reports whether a path begins like a route's: no page is there.
func (s *Server) Owns(path string) bool {
	part := firstPart(path)
	return part != "/" && s.first[part]
}

// Find returns the route that answers a request, also if it answers that its method or its
// last slash is another one. ok is false if there is none.
func (s *Server) Find(r *http.Request) (route Route, ok bool) {
	for _, method := range []string{r.Method, http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		ask := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		_, pattern := s.mux.Handler(ask)
		if pattern == "" {
			if other := s.otherSlash(ask); other != nil {
				_, pattern = s.mux.Handler(&http.Request{Method: method, URL: other, Host: r.Host})
			}
		}
		if route, ok = s.routes[pattern]; ok {
			return route, true
		}
	}
	return Route{}, false
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.preflight(w, r) {
		return
	}
	h, pattern := s.mux.Handler(r)
	if pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	s.cors(w, r)
	var recorded statusRecorder
	h.ServeHTTP(&recorded, r)
	if recorded.code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", recorded.Header().Get("Allow"))
		s.fail(w, r, Fail(http.StatusMethodNotAllowed, "Method Not Allowed"))
		return
	}
	if to := s.otherSlash(r); to != nil {
		http.Redirect(w, r, to.RequestURI(), http.StatusTemporaryRedirect)
		return
	}
	if s.o.Authenticate != nil { // a client whose key is wrong is not to look for a mistake in the path
		if _, err := s.o.Authenticate(r); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	s.fail(w, r, Fail(http.StatusNotFound, "Not Found"))
}

// otherSlash returns the URL of the route if only the last slash is wrong, else nil.
func (s *Server) otherSlash(r *http.Request) *url.URL {
	u := *r.URL
	if path, ok := strings.CutSuffix(u.Path, "/"); ok {
		u.Path = path
	} else {
		u.Path += "/"
	}
	if u.Path == "" || strings.HasPrefix(u.Path, "//") {
		return nil
	}
	u.RawPath = ""
	if _, pattern := s.mux.Handler(&http.Request{Method: r.Method, URL: &u, Host: r.Host}); pattern == "" {
		return nil
	}
	return &u
}

func (s *Server) handler(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.cors(w, r)
		defer s.recoverPanic(w, r)
		err := s.checkHost(r)
		if err == nil {
			err = s.checkPeer(r)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		r, err = s.admit(route, r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if s.o.Seen != nil {
			s.o.Seen()
		}
		if route.Costly && s.o.Costly != nil {
			if wait := s.o.Costly(r); wait > 0 {
				s.fail(w, r, TooMany(w, wait))
				return
			}
		}
		if route.Audited {
			caller := identity.CallerOf(r.Context())
			s.o.Log.Info("audit", "route", route.Pattern(), "path", r.URL.Path, "user", string(caller.User), "method", string(caller.Method), "credential", caller.Credential, "sandbox", caller.Sandbox, "client", r.RemoteAddr)
		}
		if !route.boundBody(w, r) { // nothing of it is read
			w.Header().Set("Connection", "close")
			s.fail(w, r, errTooLarge)
			return
		}
		if err := route.Handle(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// TooMany says when a request that came too soon may be sent again, and returns the error.
func TooMany(w http.ResponseWriter, wait time.Duration) error {
	seconds := int((wait + time.Second - 1) / time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return Fail(http.StatusTooManyRequests, fmt.Sprintf("too many requests: try again in %d seconds", seconds))
}

// recoverPanic answers for a handler that panics.
func (s *Server) recoverPanic(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil || p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it as well
		if p != nil {
			panic(p)
		}
		return
	}
	id := ErrorID()
	s.o.Log.Error("panic in a route", "method", r.Method, "path", r.URL.Path, "error_id", id, "panic", p, "stack", string(debug.Stack()))
	_ = JSON(w, http.StatusInternalServerError, map[string]any{
		"detail": "Internal Server Error", "exception": "internal error", "error_id": id,
	})
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, ErrBroken) {
		panic(http.ErrAbortHandler)
	}
	_, inWords := errors.AsType[worded](err)
	if bad, ok := errors.AsType[schema.Violations](err); ok {
		err = withInput(bad, r)
	}
	status, body := answer(err)
	if m, ok := body.(map[string]any); ok && inWords && status < 500 {
		m["error"] = Text(err)
	}
	if status >= 500 {
		id := ErrorID()
		if m, ok := body.(map[string]any); ok {
			m["error_id"] = id
		}
		level := slog.LevelError
		switch {
		case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
			level = slog.LevelInfo // the client has left, which is nothing wrong here
		case status == http.StatusServiceUnavailable:
			level = slog.LevelWarn // it passes: a sandbox that stops, a database that is away
		}
		s.o.Log.Log(r.Context(), level, "request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error_id", id, "error", err)
	}
	_ = JSON(w, status, body)
}

// ErrorID returns an id that is both in an answer and in the log.
func ErrorID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// statusRecorder is a ResponseWriter that keeps the header and the status only.
type statusRecorder struct {
	header http.Header
	code   int
}

func (s *statusRecorder) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}
func (s *statusRecorder) Write(b []byte) (int, error) { return len(b), nil }
func (s *statusRecorder) WriteHeader(code int)        { s.code = code }
