package rest

import (
	"errors"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/identity"
)

// Handler answers one request, or returns why it cannot. After it has begun
// to write the body it must return nil or [ErrBroken].
type Handler func(w http.ResponseWriter, r *http.Request) error

// The scopes of routes: a credential must grant Account or Sandbox; the others ask for
// none.
const (
	// Account routes are about a user's account, and all that it has.
	Account = identity.Account
	// Sandbox routes are about one sandbox: its session key opens them too.
	Sandbox = identity.Sandbox
	// Inside routes are for programs in a sandbox: only its session key opens them.
	Inside = identity.Inside
	// Public routes need no credential.
	Public identity.Scope = "public"
	// Checked routes check a credential themselves, before they read a body (sockets,
	// /api/init).
	Checked identity.Scope = "checked"
)

// Carrier says where a key may be, besides the header X-Session-API-Key.
type Carrier int

// The carriers of keys (docs/openhands/sdk-wire.md section 2).
const (
	// Header is X-Session-API-Key alone.
	Header Carrier = iota
	// Bearer is "Authorization: Bearer".
	Bearer
	// Cookie is the workspace cookie, of any origin.
	Cookie
	// Socket is the parameter session_api_key of a WebSocket's address, or its first frame.
	Socket
)

// Route is one operation of the server, with everything that holds for it.
type Route struct {
	Method string
	// Path is a pattern of net/http, "/api/things/{name}"; a last
	// "{rest...}" takes the rest of the path.
	Path string
	Tag  string // the group in the API's document
	// Scope must be granted by the credential of a request. [New] refuses a route
	// without it.
	Scope   identity.Scope
	Carrier Carrier
	// Dormant routes also answer before the deferred initialisation.
	Dormant bool
	// Hidden routes are not in the API's document.
	Hidden bool
	// Unsupported routes answer as the reference does where it lacks a feature.
	// The API's document marks them.
	Unsupported bool
	// Legacy routes belong to OpenHands' first contract (V0).
	Legacy bool
	// Limit bounds the body in bytes; 0 takes DefaultBody, a negative value
	// takes any length. Public and Checked routes must name one of at most MaxPublicBody.
	Limit int64
	// Trusted takes the place of Limit once the handler of a Public or Checked route has
	// called [Trust]; 0 for no other limit.
	Trusted int64
	// Costly routes take long or start things; [Options].Costly bounds them.
	Costly bool
	// Audited routes show or change credentials: the log has who used them.
	Audited bool
	Handle  Handler
}

// Bounds of bodies, in bytes.
const (
	// DefaultBody bounds bodies that a route does not bound itself: messages with
	// images are some megabytes.
	DefaultBody = 32 << 20
	// MaxPublicBody is the most that a client without a credential may send.
	MaxPublicBody = 64 << 10
	// NoBody is the limit of public routes that read no body.
	NoBody = 1 << 10
)

// Costly returns a route with the mark of that name.
func Costly(r Route) Route {
	r.Costly = true
	return r
}

// Audited returns a route with the mark of that name.
func Audited(r Route) Route {
	r.Audited = true
	return r
}

// Credentials returns the keys that a request for the route carries, except a key in a
// first frame.
func (r Route) Credentials(req *http.Request) (keys []string) {
	add := func(key string) {
		if key != "" {
			keys = append(keys, key)
		}
	}
	add(req.Header.Get(KeyHeader))
	switch r.Carrier {
	case Bearer:
		if key, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok {
			add(key)
		}
	case Cookie:
		if c, err := req.Cookie(WorkspaceCookie); err == nil {
			add(c.Value)
		}
	case Socket:
		add(req.URL.Query().Get("session_api_key"))
	}
	return keys
}

// check refuses a route that does not say who may use it.
func (r Route) check() error {
	switch {
	case r.Scope == "":
		return errors.New("route " + r.Pattern() + " has no scope")
	case !r.open():
		return nil
	case r.Limit <= 0 || r.Limit > MaxPublicBody:
		return errors.New("route " + r.Pattern() + " is open and must name a small limit of its body")
	}
	return nil
}

// open reports whether the handler is called without a credential.
func (r Route) open() bool { return r.Scope == Public || r.Scope == Checked }

// Pattern returns the route as net/http wants it.
func (r Route) Pattern() string { return strings.TrimSpace(r.Method + " " + r.Path) }

// OpenAPIPath returns the path as an OpenAPI document writes it.
func (r Route) OpenAPIPath() string {
	return strings.ReplaceAll(strings.TrimSuffix(r.Path, "{$}"), "...}", "}")
}
