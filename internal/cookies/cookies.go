// Package cookies names the cookies by which Deft's servers know a browser, and removes them
// from requests to programs of others and from their answers: a browser has one set of cookies
// for all ports of a host.
//
// # Usage
//
//	cookies.StripRequest(request.Header)
//	cookies.StripAnswer(answer.Header)
//
// # Concurrency and failure
//
// Everything is safe for concurrent use and cannot fail.
package cookies

import (
	"net/http"
	"slices"
	"strings"
)

const (
	// Session is the App Server's; over HTTPS its name is "__Host-" and this.
	Session = "deft_session"
	// SignIn is the App Server's while a browser signs in at an identity provider; over HTTPS as
	// Session.
	SignIn = Session + "_sign_in"
	// Workspace opens pages of workspaces (docs/openhands/sdk-wire.md section 4.2).
	Workspace = "oh_workspace_session_key"
)

// Own reports whether a cookie is one of Deft's.
func Own(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, Session) || strings.Contains(name, Workspace)
}

// Sets reports whether the value of a Set-Cookie header is one of Deft's: by its name, or
// without one by its value, which a browser sends alone.
func Sets(header string) bool {
	pair, _, _ := strings.Cut(header, ";")
	name, value, named := strings.Cut(pair, "=")
	if named && strings.TrimSpace(name) == "" {
		name = value
	}
	return Own(name)
}

// Strip returns the value of a Cookie header without Deft's cookies, "" if none is left.
func Strip(header string) string {
	var kept []string
	for pair := range strings.SplitSeq(header, ";") {
		name, _, _ := strings.Cut(pair, "=")
		if pair = strings.TrimSpace(pair); pair != "" && !Own(name) {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "; ")
}

// StripRequest removes Deft's cookies from a request's header.
func StripRequest(h http.Header) {
	if kept := Strip(strings.Join(h.Values("Cookie"), "; ")); kept != "" {
		h.Set("Cookie", kept)
	} else {
		h.Del("Cookie")
	}
}

// StripAnswer removes Deft's cookies from an answer's header: a program could end or change a
// person's session.
func StripAnswer(h http.Header) {
	if kept := slices.DeleteFunc(h.Values("Set-Cookie"), Sets); len(kept) == 0 {
		h.Del("Set-Cookie")
	} else {
		h["Set-Cookie"] = kept
	}
}
