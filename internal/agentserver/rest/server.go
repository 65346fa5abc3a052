package rest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/deft-dev/deft/schema"
)

// Options say how a server decides about requests. The functions are called
// for each request and may answer differently over time, because a deferred
// initialisation brings keys and origins later.
type Options struct {
	Routes []Route
	// Keys returns the keys that open the server; none leaves it open.
	Keys func() []string
	// Ready reports whether the server has been initialised; nil for always.
	Ready func() bool
	// Origin reports whether a page of this origin may use the server with
	// credentials, beside those of this machine; nil for none.
	Origin func(origin string) bool
	// Host reports whether a server without keys is reached under a host, as
	// browsers write it into the request; nil for any. A page whose name was
	// pointed at this machine (DNS rebinding) is refused by it, since to the
	// browser it is of the server's own origin.
	Host func(host string) bool
	// Seen is told of each request that passed, for the idle time; nil for
	// nobody.
	Seen func()
	Log  *slog.Logger
}

// Server is the handler of all routes.
type Server struct {
	mux *http.ServeMux
	o   Options
}

// New returns the handler. Two routes with one pattern are an error.
func New(o Options) (s *Server, err error) {
	s = &Server{mux: http.NewServeMux(), o: o}
	if s.o.Log == nil {
		s.o.Log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if p := recover(); p != nil { // how net/http refuses a pattern
			err = fmt.Errorf("route: %v", p)
		}
	}()
	for _, r := range o.Routes {
		s.mux.Handle(r.Pattern(), s.handler(r))
	}
	return s, nil
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
	s.cors(w, r, false)
	var told status
	h.ServeHTTP(&told, r)
	if told.code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", told.Header().Get("Allow"))
		s.fail(w, r, Fail(http.StatusMethodNotAllowed, "Method Not Allowed"))
		return
	}
	if to, ok := s.otherSlash(r); ok {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		return
	}
	s.fail(w, r, Fail(http.StatusNotFound, "Not Found"))
}

// otherSlash returns where the route is if only the last slash is wrong.
func (s *Server) otherSlash(r *http.Request) (string, bool) {
	u := *r.URL
	if path, ok := strings.CutSuffix(u.Path, "/"); ok {
		u.Path = path
	} else {
		u.Path += "/"
	}
	if u.Path == "" || strings.HasPrefix(u.Path, "//") {
		return "", false
	}
	u.RawPath = ""
	_, pattern := s.mux.Handler(&http.Request{Method: r.Method, URL: &u, Host: r.Host})
	return u.RequestURI(), pattern != ""
}

func (s *Server) handler(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.cors(w, r, route.Access == Cookie)
		defer s.caught(w, r)
		if err := s.reached(r); err != nil {
			s.fail(w, r, err)
			return
		}
		if err := s.admit(route, r); err != nil {
			s.fail(w, r, err)
			return
		}
		if s.o.Seen != nil {
			s.o.Seen()
		}
		impatient(w, r)
		limit := route.Limit
		if limit == 0 {
			limit = DefaultBody
		}
		if limit > 0 {
			if r.ContentLength > limit { // nothing of it is read
				w.Header().Set("Connection", "close")
				s.fail(w, r, errTooLarge)
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		if err := route.Handle(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// caught answers for a panic.
func (s *Server) caught(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil || p == http.ErrAbortHandler { //nolint:errorlint // net/http knows no wrapped one either
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
	if bad, ok := errors.AsType[schema.Violations](err); ok {
		err = quoted(bad, r)
	}
	status, body := answer(err)
	if status >= 500 {
		id := ErrorID()
		if m, ok := body.(map[string]any); ok {
			m["error_id"] = id
		}
		s.o.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error_id", id, "error", err)
	}
	_ = JSON(w, status, body)
}

// ErrorID returns an id under which an error is logged and told.
func ErrorID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// status is a ResponseWriter that only notes what it is told.
type status struct {
	header http.Header
	code   int
}

func (s *status) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}
func (s *status) Write(b []byte) (int, error) { return len(b), nil }
func (s *status) WriteHeader(code int)        { s.code = code }
