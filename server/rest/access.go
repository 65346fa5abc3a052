package rest

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"os"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/cookies"
)

// Headers and the cookie that carry a key (docs/openhands/sdk-wire.md sections 2 and 4.2).
const (
	KeyHeader       = "X-Session-API-Key"
	WorkspaceCookie = cookies.Workspace
)

// admit checks who sends a request.
func (s *Server) admit(route Route, r *http.Request) (*http.Request, error) {
	var caller identity.Caller
	var err error
	switch {
	case route.Scope == Public:
		return r, nil
	case s.o.Authenticate == nil:
		caller, err = s.o.Caller, s.checkKey(route, r)
	case route.Scope != Checked:
		caller, err = s.o.Authenticate(r)
	}
	if err != nil || route.Scope == Checked {
		return r, err
	}
	if !caller.May(route.Scope) {
		if route.Scope == Inside {
			return r, fault.New(fault.Auth, "the session key of the sandbox is missing")
		}
		return r, fault.New(fault.Denied, "the key of a sandbox does not open this").Hint("sign in, or send an API key of the sandbox's owner")
	}
	return r.WithContext(identity.With(r.Context(), caller)), nil
}

// checkKey checks the key of a request.
func (s *Server) checkKey(route Route, r *http.Request) error {
	keys := s.o.Keys()
	if len(keys) == 0 && s.crossOrigin(r) {
		return Fail(http.StatusForbidden, "Pages of this origin may not use the server")
	}
	if route.Scope == Checked || len(keys) == 0 {
		return nil
	}
	for _, key := range route.Credentials(r) {
		if Allowed(keys, key) {
			return nil
		}
	}
	return Fail(http.StatusUnauthorized, "Unauthorized")
}

// checkHost refuses requests to other hosts while there are no keys.
func (s *Server) checkHost(r *http.Request) error {
	if s.o.Host == nil || s.o.Host(r.Host) || s.o.Authenticate == nil && len(s.o.Keys()) > 0 {
		return nil
	}
	return Fail(http.StatusForbidden, "This server has no key and answers only to names of this machine: "+
		"set OH_WEB_URL to the address by which it is reached, or OH_SESSION_API_KEYS_0")
}

// checkPeer refuses requests of other users of this machine while there are no keys.
func (s *Server) checkPeer(r *http.Request) error {
	if s.o.Peer == nil || s.o.Authenticate == nil && len(s.o.Keys()) > 0 {
		return nil
	}
	return s.o.Peer(r)
}

// crossOrigin reports whether a page of another origin asks for a change. A
// browser lets any page send forms and text to any address and only hides the
// answer. Where a header carries a key, it asks for permission first.
func (s *Server) crossOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	if origin == "" || LocalOrigin(origin) || s.o.Origin != nil && s.o.Origin(origin) {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}

// Allowed reports whether key is one of keys. The time it takes does not depend
// on whether it is.
func Allowed(keys []string, key string) bool {
	got, found := sha256.Sum256([]byte(key)), 0
	for _, k := range keys {
		want := sha256.Sum256([]byte(k))
		found |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return found == 1 && key != ""
}

// cors lets pages of allowed origins read the answer. Routes that take a cookie are
// no exception: it is sent with the requests of any page.
func (s *Server) cors(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Vary", "Origin") // even without an Origin: a cache could give the answer to a page
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	if !s.readableBy(origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Expose-Headers", "*")
	return true
}

// readableBy reports whether pages of an origin may read answers.
func (s *Server) readableBy(origin string) bool {
	return !s.o.SameOrigin && LocalOrigin(origin) || s.o.Origin != nil && s.o.Origin(origin)
}

// preflight answers CORS preflight requests.
func (s *Server) preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	if !s.cors(w, r) {
		http.Error(w, "Disallowed CORS origin", http.StatusBadRequest)
		return true
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")
	h.Set("Access-Control-Max-Age", "600")
	if want := r.Header.Get("Access-Control-Request-Headers"); want != "" {
		h.Set("Access-Control-Allow-Headers", want)
	}
	w.WriteHeader(http.StatusOK)
	return true
}

// LocalOrigin reports whether an origin is a page of this machine, or of the
// Docker host that DOCKER_HOST_ADDR names.
func LocalOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	host := u.Hostname()
	if docker := os.Getenv("DOCKER_HOST_ADDR"); docker != "" && host == docker {
		return true
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
