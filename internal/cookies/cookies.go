// Package cookies names the cookies by which Deft's servers know a browser, and removes them
// from requests to programs of others: a browser sends a host's cookies to all its ports.
//
// # Usage
//
//	kept := cookies.Strip(r.Header.Get("Cookie"))
//
// # Concurrency and failure
//
// Everything is safe for concurrent use and cannot fail.
package cookies

import "strings"

const (
	// Session is the App Server's; over HTTPS its name is "__Host-" and this.
	Session = "deft_session"
	// Workspace opens pages of workspaces (docs/openhands/sdk-wire.md section 4.2).
	Workspace = "oh_workspace_session_key"
)

// Own reports whether a cookie is one of Deft's.
func Own(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, Session) || strings.Contains(name, Workspace)
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
