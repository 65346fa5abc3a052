package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// TestForeignPages wants pages of other sites to change nothing on a server
// without keys, which a browser would let them.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	ok := func(w http.ResponseWriter, _ *http.Request) error { return rest.OK(w) }
	var keys []string
	s, err := rest.New(rest.Options{
		Routes: []rest.Route{{Method: "POST", Path: "/api/x", Scope: rest.Account, Handle: ok}, {Method: "GET", Path: "/api/x", Scope: rest.Account, Handle: ok}},
		Keys:   func() []string { return keys },
		Origin: func(origin string) bool { return origin == "https://ui.example" },
	})
	must.Succeed(t, err)
	for _, c := range []struct {
		method, origin, key string
		keys                []string
		status              int
	}{
		{"POST", "", "", nil, 200},
		{"POST", "http://localhost:3000", "", nil, 200},
		{"POST", "https://ui.example", "", nil, 200},
		{"POST", "http://server.example:8000", "", nil, 200}, // its own
		{"POST", "https://evil.example", "", nil, 403},
		{"POST", "null", "", nil, 403},
		{"POST", "://", "", nil, 403},
		{"GET", "https://evil.example", "", nil, 200}, // the answer is kept from the page
		{"POST", "https://evil.example", "", []string{"k"}, 401},
		{"POST", "https://evil.example", "k", []string{"k"}, 200},
	} {
		keys = c.keys
		r := httptest.NewRequestWithContext(t.Context(), c.method, "http://server.example:8000/api/x", nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		r.Header.Set(rest.KeyHeader, c.key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
		// Otherwise a cache gives pages the answer for requests without an origin.
		if vary := w.Header().Values("Vary"); !slices.Equal(vary, []string{"Origin"}) {
			t.Errorf("%+v: varies by %v", c, vary)
		}
	}
}

// TestHost refuses names that were pointed at this machine, as long as there
// is no key that a page cannot know.
func TestHost(t *testing.T) {
	t.Parallel()
	var keys []string
	s, err := rest.New(rest.Options{
		Keys: func() []string { return keys }, Host: func(host string) bool { return host == "localhost:8000" },
		Routes: []rest.Route{{Method: "GET", Path: "/x", Scope: rest.Account, Handle: func(w http.ResponseWriter, _ *http.Request) error { return rest.OK(w) }}},
	})
	must.Succeed(t, err)
	ask := func(host, key string, want int) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil)
		r.Host = host
		r.Header.Set("Origin", "http://"+host)
		r.Header.Set(rest.KeyHeader, key)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != want {
			t.Errorf("host %s, key %q: %d %s, want %d", host, key, w.Code, w.Body, want)
		}
	}
	ask("localhost:8000", "", 200)
	ask("evil.example:8000", "", 403)
	keys = []string{"k"}
	ask("evil.example:8000", "", 401)
	ask("evil.example:8000", "k", 200)
}

// TestCORS wants allowed origins, and no other one, to be echoed on all routes, those
// that take a cookie included.
func TestCORS(t *testing.T) {
	t.Parallel()
	ok := func(w http.ResponseWriter, _ *http.Request) error { return rest.OK(w) }
	var routes []rest.Route
	for _, method := range []string{"POST", "DELETE"} {
		routes = append(routes, rest.Route{Method: method, Path: "/api/auth/workspace-session", Scope: rest.Account, Handle: ok})
	}
	routes = append(routes, rest.Route{Method: "GET", Path: "/api/conversations/{id}/workspace/{path...}", Scope: rest.Sandbox, Carrier: rest.Cookie, Handle: ok})
	for _, keys := range [][]string{nil, {"k"}} {
		s, err := rest.New(rest.Options{
			Routes: routes, Keys: func() []string { return keys }, Origin: func(origin string) bool { return origin == "https://ui.example" },
		})
		must.Succeed(t, err)
		for origin, allowed := range map[string]bool{
			"https://ui.example": true, "http://localhost:3000": true, "http://127.0.0.1": true,
			"https://evil.example": false, "null": false, "file://": false, "http://localhost.evil.example": false,
		} {
			for _, c := range []struct{ method, path string }{
				{"POST", "/api/auth/workspace-session"}, {"DELETE", "/api/auth/workspace-session"}, {"GET", "/api/conversations/1/workspace/a"}, {"GET", "/none"},
			} {
				for _, preflight := range []bool{false, true} {
					r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
					r.Header.Set("Origin", origin)
					r.Header.Set(rest.KeyHeader, "k")
					if preflight {
						r.Method = "OPTIONS"
						r.Header.Set("Access-Control-Request-Method", c.method)
					}
					w := httptest.NewRecorder()
					s.ServeHTTP(w, r)
					h := w.Header()
					echoed := h.Get("Access-Control-Allow-Origin") == origin && h.Get("Access-Control-Allow-Credentials") == "true"
					none := h.Get("Access-Control-Allow-Origin") == "" && h.Get("Access-Control-Allow-Credentials") == ""
					if allowed && !echoed || !allowed && !none || preflight && (w.Code == http.StatusOK) != allowed {
						t.Errorf("%s %s of %s, preflight %v: %d %v", c.method, c.path, origin, preflight, w.Code, h)
					}
				}
			}
		}
	}
}

// TestSealedSecret wants a request that needs a secret which no key opens to be one
// that can be made again.
func TestSealedSecret(t *testing.T) {
	t.Parallel()
	s, err := rest.New(rest.Options{
		Keys: func() []string { return nil },
		Routes: []rest.Route{{Method: "GET", Path: "/x", Scope: rest.Account, Handle: func(http.ResponseWriter, *http.Request) error {
			return fmt.Errorf("load the profile p: %w", schema.ErrSealed)
		}}},
	})
	must.Succeed(t, err)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "cannot be decrypted") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestRoutesDeclare refuses routes that do not say who may use them, and open ones without
// a small limit.
func TestRoutesDeclare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		route rest.Route
		ok    bool
	}{
		{rest.Route{}, false},
		{rest.Route{Scope: rest.Account}, true},
		{rest.Route{Scope: rest.Sandbox}, true},
		{rest.Route{Scope: rest.Public}, false},
		{rest.Route{Scope: rest.Public, Limit: -1}, false},
		{rest.Route{Scope: rest.Public, Limit: rest.DefaultBody}, false},
		{rest.Route{Scope: rest.Public, Limit: rest.NoBody}, true},
		{rest.Route{Scope: rest.Checked}, false},
		{rest.Route{Scope: rest.Checked, Limit: rest.MaxPublicBody, Trusted: rest.DefaultBody}, true},
	} {
		c.route.Method, c.route.Path = "POST", "/x"
		if _, err := rest.New(rest.Options{Routes: []rest.Route{c.route}}); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.route, err)
		}
	}
}
