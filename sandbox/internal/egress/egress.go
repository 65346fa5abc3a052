// Package egress is the HTTP proxy through which the commands of a sandbox reach
// the network: CONNECT, and plain HTTP with absolute addresses. It resolves names
// itself and decides by the [sandbox.Network] of the sandbox.
//
// # Usage
//
//	p := egress.New(egress.Options{Network: network, Upstream: http.ProxyFromEnvironment})
//	err := p.Serve(listener)
//	…
//	p.Close()
//
// # What is decided, and when
//
// A host that is not granted is refused before its name is resolved. Then each
// address is judged at the moment when a connection to exactly that address is
// made: there is no second look-up that could answer otherwise. Redirects are not
// followed; a client's reaction to one is a new request. With an upstream proxy
// the name goes there, after it was judged by its addresses here, if it resolves:
// the upstream proxy resolves it again, so its operator decides as well which
// addresses it must not reach.
//
// # Concurrency and failure
//
// A Proxy is safe for concurrent use and serves at most [MaxConnections] at a time; more
// wait. A refused host gets 403 with the host and the flag that would allow it, an
// unreachable one 502 or 504. Nothing is logged; clients can ask for the latest refusals
// ([RefusedPath]).
package egress

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/internal/addresses"
	"github.com/deft-dev/deft/sandbox"
)

// Limits of a Proxy.
const (
	// MaxConnections is how many clients are served at a time.
	MaxConnections = 256

	maxHeader     = 64 << 10
	headerTimeout = 30 * time.Second
	idleTimeout   = time.Minute
	dialTimeout   = 30 * time.Second
)

// Options configure a Proxy.
type Options struct {
	// Network says which hosts may be reached.
	Network sandbox.Network
	// Hosts are names whose addresses are not looked up; connections to them go through
	// no upstream proxy, which knows other addresses or none.
	Hosts []sandbox.ExtraHost
	// Token, unless empty, is the password that clients must send, with any user.
	Token string
	// Upstream returns the proxy through which a request goes, or nil, as
	// http.ProxyFromEnvironment does. Nil: none.
	Upstream func(*http.Request) (*url.URL, error)
	// Resolver resolves names; the system's by default.
	Resolver *net.Resolver
}

// Proxy is the proxy of one sandbox. Make it with [New].
type Proxy struct {
	o        Options
	classify func(netip.Addr) (addresses.Reach, string)
	server   *http.Server
	forward  *httputil.ReverseProxy
	direct   *http.Transport
	upstream *http.Transport
	slots    chan struct{}
	refused  refused

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	serving sync.WaitGroup // requests and their successors; none is added once closed
}

// New returns a Proxy. Close must be called.
func New(o Options) *Proxy {
	if o.Upstream == nil {
		o.Upstream = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	p := &Proxy{o: o, slots: make(chan struct{}, MaxConnections)}
	p.classify = func(a netip.Addr) (addresses.Reach, string) {
		own, err := addresses.Own()
		if err != nil {
			return addresses.Never, "an address that cannot be compared with this machine's"
		}
		return addresses.Classify(a, own)
	}
	if len(o.Hosts) > 0 {
		p.o.Upstream = p.upstreamOf(o.Upstream)
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	quiet := log.New(io.Discard, "", 0)
	transport := http.Transport{
		DisableCompression: true, MaxIdleConns: 32, IdleConnTimeout: idleTimeout,
		MaxResponseHeaderBytes: 1 << 20, ExpectContinueTimeout: time.Second,
	}
	p.direct, p.upstream = transport.Clone(), transport.Clone()
	p.direct.DialContext = p.dialAddress
	p.upstream.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	p.upstream.Proxy = p.o.Upstream
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			r.Out.URL.User = nil
			r.Out.Host = r.In.URL.Host
		},
		Transport: roundTripper(p.roundTrip), FlushInterval: -1, ErrorLog: quiet,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			p.refused.note(err)
			answer(w, err)
		},
	}
	p.server = &http.Server{
		Handler: p, ErrorLog: quiet, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		DisableGeneralOptionsHandler: true,
	}
	return p
}

// upstreamOf is which upstream proxy is used beside Options.Hosts.
func (p *Proxy) upstreamOf(upstream func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		if len(p.fixed(strings.TrimSuffix(strings.ToLower(r.URL.Hostname()), "."))) > 0 {
			return nil, nil
		}
		return upstream(r)
	}
}

// fixed are the addresses that Options.Hosts has of a name.
func (p *Proxy) fixed(name string) (all []string) {
	for _, h := range p.o.Hosts {
		if h.Name == name {
			all = append(all, h.Address.String())
		}
	}
	return all
}

// Serve answers the connections of a listener until Close. It may be called for
// several listeners.
func (p *Proxy) Serve(l net.Listener) error {
	err := p.server.Serve(&limited{l, p})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends all connections and waits for their goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	err := p.server.Close()
	p.serving.Wait()
	p.direct.CloseIdleConnections()
	p.upstream.CloseIdleConnections()
	return err
}

// enter begins a request, unless the proxy is closed.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.serving.Add(1)
	}
	return !p.closed
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		return // its connection is being closed
	}
	defer p.serving.Done()
	// The server does not end requests whose connection was taken over.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	r = r.WithContext(ctx)
	switch {
	case !p.authorized(r):
		w.Header().Set("Proxy-Authenticate", `Basic realm="deft sandbox"`)
		http.Error(w, "deft: the proxy of a sandbox is for its commands only", http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.forward.ServeHTTP(w, r)
	case r.Method == http.MethodGet && r.URL.Host == "" && r.URL.Path == RefusedPath:
		p.refused.ServeHTTP(w, r)
	default:
		http.Error(w, "deft: this is the proxy of a sandbox; it takes CONNECT, and http:// addresses", http.StatusBadRequest)
	}
}

func (p *Proxy) authorized(r *http.Request) bool {
	if p.o.Token == "" {
		return true
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	_, token, _ := strings.Cut(string(raw), ":")
	return err == nil && strings.EqualFold(scheme, "Basic") &&
		subtle.ConstantTimeCompare([]byte(token), []byte(p.o.Token)) == 1
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// roundTrip forwards one plain HTTP request.
func (p *Proxy) roundTrip(r *http.Request) (*http.Response, error) {
	t, err := parseTarget(r.URL.Host, 80)
	if err != nil {
		return nil, err
	}
	if t.granted, err = p.admit(t); err != nil {
		return nil, err
	}
	up, err := p.o.Upstream(r)
	if err != nil {
		return nil, unreachable{t, err}
	}
	via := p.direct
	if up != nil {
		if err := p.judgeForUpstream(r.Context(), t); err != nil {
			return nil, err
		}
		via = p.upstream
	}
	resp, err := via.RoundTrip(r)
	if err != nil {
		return nil, unreachable{t, err}
	}
	return resp, nil
}

// limited accepts as many connections as there are slots.
type limited struct {
	net.Listener
	p *Proxy
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.p.slots <- struct{}{}:
	case <-l.p.ctx.Done():
		return nil, http.ErrServerClosed // the server may not know it yet
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.p.slots
		return nil, err
	}
	return &client{Conn: c, release: sync.OnceFunc(func() { <-l.p.slots })}, nil
}

// client is a connection that has a slot until it is closed.
type client struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c *client) Close() error {
	defer c.release()
	return c.Conn.Close()
}
