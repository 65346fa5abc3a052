package socketio

import (
	"net/http"
	"net/url"
	"strings"
)

// sameOrigin reports whether a request is not of a page, or of one of the host that it
// is sent to: a browser lets any page open a socket.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}
