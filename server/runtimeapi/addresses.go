package runtimeapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
)

// Placeholders of a pattern of addresses.
const (
	placeID   = "{runtime_id}"
	placePort = "{port}"
)

// Addresses are where runtimes are reached: each at a port of its own, or all at the port of
// the Runtime API, by the host name or the beginning of the path. It implements
// [registry.Addresses].
type Addresses struct {
	pattern string
	host    string // to listen on, for ports
	// Around the id in the host's name, or in the path.
	before, after string
	byHost        bool
	log           *slog.Logger

	web *http.Server // of the ports

	mu      sync.Mutex
	server  *Server
	ports   map[string]net.Listener // by runtime
	targets map[string]string       // runtime by port
	wg      sync.WaitGroup
}

var _ registry.Addresses = (*Addresses)(nil)

// NewAddresses returns addresses of the form of a pattern. One with {port} gives each
// runtime a port of its own on host, which clients that want a root URL need; one with
// {runtime_id} stands for this server behind a name or a path for each.
func NewAddresses(pattern, host string, log *slog.Logger) (*Addresses, error) {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	a := &Addresses{pattern: strings.TrimRight(pattern, "/"), host: host, log: log, ports: map[string]net.Listener{}, targets: map[string]string{}}
	a.web = newHTTPServer(http.HandlerFunc(a.servePort), log)
	id, port := strings.Count(pattern, placeID), strings.Count(pattern, placePort)
	u, err := url.Parse(strings.NewReplacer(placeID, "0", placePort, "1").Replace(pattern))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || id+port != 1 || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(fault.Invalid, "the URL of runtimes must be an http address with {port} or {runtime_id} in it, once: "+pattern)
	}
	if port == 1 {
		return a, nil
	}
	_, rest, _ := strings.Cut(a.pattern, "://")
	name, path, _ := strings.Cut(rest, "/")
	if before, after, ok := strings.Cut(name, placeID); ok {
		a.byHost, a.before, a.after = true, strings.ToLower(before), strings.ToLower(after)
		if h, _, err := net.SplitHostPort(after); err == nil {
			a.after = strings.ToLower(h)
		}
		return a, nil
	}
	before, after, ok := strings.Cut("/"+path, placeID)
	if !ok || after != "" && !strings.HasPrefix(after, "/") || !strings.HasSuffix(before, "/") {
		return nil, fault.New(fault.Invalid, "in the URL of runtimes {runtime_id} must be one part of the path: "+pattern)
	}
	a.before, a.after = before, after
	return a, nil
}

// serve sets the server that requests go to.
func (a *Addresses) serve(s *Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.server = s
}

// Open implements [registry.Addresses]. The port of earlier is taken again if it is free.
func (a *Addresses) Open(id, had string) (string, error) {
	if !strings.Contains(a.pattern, placePort) {
		return "", nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.ports[id]; l != nil {
		return portOf(l), nil
	}
	var l net.Listener
	err := errors.New("no port of earlier")
	if had != "" {
		l, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(a.host, had))
	}
	if err != nil {
		l, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(a.host, "0"))
	}
	if err != nil {
		return "", fault.Wrap(err, fault.Unavailable, "listen for a runtime")
	}
	port := portOf(l)
	a.ports[id], a.targets[port] = l, id
	a.wg.Go(func() {
		if err := a.web.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			a.log.Error("a runtime's port cannot be served", "runtime", id, "err", err)
		}
	})
	return port, nil
}

func portOf(l net.Listener) string {
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil { // a TCP listener has a port
		panic(err)
	}
	return port
}

// Close implements [registry.Addresses].
func (a *Addresses) Close(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.ports[id]
	if l == nil {
		return
	}
	delete(a.ports, id)
	delete(a.targets, portOf(l))
	if err := l.Close(); err != nil {
		a.log.Warn("close a runtime's port", "runtime", id, "err", err)
	}
}

// close ends the service at all ports.
func (a *Addresses) close() error {
	err := a.web.Close()
	a.wg.Wait()
	if errors.Is(err, net.ErrClosed) { // [Addresses.Close] was first, and Serve had not seen it yet
		return nil
	}
	return err
}

// servePort serves a request to a runtime's own port.
func (a *Addresses) servePort(w http.ResponseWriter, r *http.Request) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	_, port, err := net.SplitHostPort(local.String())
	a.mu.Lock()
	id, s := a.targets[port], a.server
	a.mu.Unlock()
	if err != nil || id == "" || s == nil { // it was stopped, but a client keeps its connection
		w.Header().Set("Connection", "close")
		http.Error(w, `{"detail":"there is no runtime here any more"}`, http.StatusNotFound)
		return
	}
	s.proxy(w, r, id, 0)
}

// url is where a runtime is reached.
func (a *Addresses) url(rt registry.Runtime) string {
	return strings.NewReplacer(placeID, rt.ID, placePort, rt.Address).Replace(a.pattern)
}

var validID = lazyregexp.New(`^[a-z0-9]{20}$`)

// match finds the runtime that a request to this server is for, and how many parts of the
// path name it.
func (a *Addresses) match(r *http.Request) (id string, skip int, ok bool) {
	switch {
	case strings.Contains(a.pattern, placePort):
		return "", 0, false
	case a.byHost:
		name := r.Host
		if h, _, err := net.SplitHostPort(name); err == nil {
			name = h
		}
		id, ok = between(strings.ToLower(name), a.before, a.after)
		return id, 0, ok
	}
	rest, ok := strings.CutPrefix(r.URL.Path, a.before)
	if !ok {
		return "", 0, false
	}
	id, rest, _ = strings.Cut(rest, "/")
	if rest, ok = strings.CutPrefix("/"+rest, a.after); !ok || rest != "" && rest[0] != '/' {
		return "", 0, false
	}
	return id, strings.Count(a.before+a.after, "/"), validID().MatchString(id)
}

func between(name, before, after string) (id string, ok bool) {
	if id, ok = strings.CutPrefix(name, before); ok {
		id, ok = strings.CutSuffix(id, after)
	}
	return id, ok && validID().MatchString(id)
}

// DefaultPattern is the pattern of the ports of an address.
func DefaultPattern(host string) string {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + strings.Replace(net.JoinHostPort(host, strconv.Itoa(0)), ":0", ":"+placePort, 1)
}
