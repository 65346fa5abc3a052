package rest

import (
	"net/http"
	"strings"
)

// Handler answers one request, or returns why it cannot. After it has begun
// to write the body it must return nil or [ErrBroken].
type Handler func(w http.ResponseWriter, r *http.Request) error

// Access says how a client proves that it may use a route.
type Access int

// The kinds of access (docs/openhands/sdk-wire.md section 2).
const (
	// Key needs the header X-Session-API-Key if keys are configured.
	Key Access = iota
	// Bearer also takes the key as "Authorization: Bearer".
	Bearer
	// Cookie also takes the key from the workspace cookie, of any origin.
	Cookie
	// Open needs no key.
	Open
	// Own routes check for themselves (sockets, /api/init).
	Own
)

// Route is one operation of the server.
type Route struct {
	Method string
	// Path is a pattern of net/http, "/api/things/{name}"; a last
	// "{rest...}" takes the rest of the path.
	Path   string
	Tag    string // the group in the API's document
	Access Access
	// Dormant routes also answer before the deferred initialisation.
	Dormant bool
	// Hidden routes are not in the API's document.
	Hidden bool
	// Unsupported routes answer as the reference does where it lacks a feature.
	// The API's document marks them.
	Unsupported bool
	// Limit bounds the body in bytes; 0 takes DefaultBody, a negative value
	// takes any length.
	Limit int64
	// Costly routes take long or start things; [Options].Costly bounds them.
	Costly bool
	Handle Handler
}

// DefaultBody bounds bodies that a route does not bound itself: messages with
// images are some megabytes.
const DefaultBody = 32 << 20

// Pattern returns the route as net/http wants it.
func (r Route) Pattern() string { return r.Method + " " + r.Path }

// OpenAPIPath returns the path as an OpenAPI document writes it.
func (r Route) OpenAPIPath() string {
	return strings.ReplaceAll(strings.TrimSuffix(r.Path, "{$}"), "...}", "}")
}
