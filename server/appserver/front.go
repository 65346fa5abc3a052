package appserver

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/ratelimit"
	"github.com/deft-dev/deft/server/appserver/apps"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/ports"
	"github.com/deft-dev/deft/server/rest"
)

// front tells the requests on the one port apart.
type front struct{ v *services }

// isAPI reports whether a path is never the page's.
func (f front) isAPI(path string) bool { return f.v.table.Owns(path) || f.v.contract.Owns(path) }

// ServeHTTP implements [http.Handler].
func (f front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o := f.v.o
	if a, ok := f.v.apps.Of(r); ok { // never one of our own routes
		f.app(w, r, a)
		return
	}
	if !o.allowedHost(r.Host) {
		http.Error(w, "This server does not answer to the name "+r.Host+". Set --public-url to the address by which it is reached.", http.StatusMisdirectedRequest)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	if f.preflight(w, r) {
		return
	}
	b, found, err := f.sandboxOf(r)
	switch {
	case err != nil:
		f.v.o.Log.Log(r.Context(), level(r), "find the sandbox of a request", "path", r.URL.Path, "err", err)
		http.Error(w, err.Error(), fault.KindOf(err).HTTPStatus())
	case f.isAPI(r.URL.Path) && f.v.replicas.pass(w, r, b.ID):
	case found:
		f.agentServer(w, r, b)
	case !f.isAPI(r.URL.Path) && o.Page != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		o.Page.ServeHTTP(w, r)
	default:
		h.Set("Cache-Control", "no-store")
		f.v.table.ServeHTTP(w, r)
	}
}

// level is the level of a request's failure.
func level(r *http.Request) slog.Level {
	if r.Context().Err() != nil {
		return slog.LevelInfo // the client has left, which is nothing wrong here
	}
	return slog.LevelError
}

// app answers for a program in a sandbox.
func (f front) app(w http.ResponseWriter, r *http.Request, a apps.App) {
	in, err := f.v.apps.Sandbox(r.Context(), a)
	switch {
	case fault.Is(err, fault.NotFound):
		ports.Say(w, http.StatusNotFound, "There is nothing here", "The conversation lists the addresses of its programs.")
	case err != nil:
		f.v.o.Log.Log(r.Context(), level(r), "find the sandbox of a program", "err", err)
		ports.Say(w, http.StatusInternalServerError, "The sandbox cannot be found", "The server has written why to its log.")
	case f.v.replicas.pass(w, r, in.ID):
	default:
		f.v.apps.Serve(w, r, in, a)
	}
}

// preflight answers a browser's question whether a page of another origin may send a
// session key: for the agent-server contract it may.
func (f front) preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		if strings.EqualFold(strings.TrimSpace(name), rest.KeyHeader) {
			f.v.contract.ServeHTTP(w, r)
			return true
		}
	}
	return false
}

// sandboxOf returns the sandbox whose agent server a request is for: it has the session key
// where the route of the contract takes one.
func (f front) sandboxOf(r *http.Request) (b store.Sandbox, found bool, err error) {
	route, ok := f.v.contract.Find(r)
	if !ok {
		return b, false, nil
	}
	ctx := r.Context()
	for _, key := range route.Credentials(r) {
		if b, err = f.v.store.SandboxOfKey(ctx, key); err == nil {
			return b, true, nil
		}
		if !fault.Is(err, fault.Auth) {
			return b, false, err
		}
	}
	if route.Carrier != rest.Socket {
		return b, false, nil
	}
	// The client may send the key in its first frame. The conversation is the third part.
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) < 4 {
		return b, false, nil
	}
	id, ok := event.ParseConversationID(parts[3])
	if !ok {
		return b, false, nil
	}
	b, err = f.v.store.SandboxOfConversation(ctx, string(id))
	if fault.Is(err, fault.NotFound) {
		return b, false, nil
	}
	return b, err == nil, err
}

// agentServer answers by the agent-server contract. Whoever works in a paused sandbox
// resumes it.
func (f front) agentServer(w http.ResponseWriter, r *http.Request, b store.Sandbox) {
	if b.Paused && r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := f.v.store.SetSandboxPaused(r.Context(), b.Owner, b.ID, false); err != nil {
			http.Error(w, err.Error(), fault.KindOf(err).HTTPStatus())
			return
		}
	}
	if err := f.v.agentServers.serve(w, r, b); err != nil {
		f.v.o.Log.Log(r.Context(), level(r), "open the agent server of a sandbox", "sandbox", b.ID, "err", err)
		http.Error(w, err.Error(), fault.KindOf(err).HTTPStatus())
	}
}

// costlyLimit bounds the costly requests of each owner: a minute's requests at once,
// then evenly.
func costlyLimit(perMinute int) func(r *http.Request) time.Duration {
	if perMinute == 0 {
		return nil
	}
	l := ratelimit.New(perMinute, time.Minute/time.Duration(perMinute))
	return func(r *http.Request) time.Duration {
		return l.Take(string(identity.CallerOf(r.Context()).Tenant()), time.Now())
	}
}
