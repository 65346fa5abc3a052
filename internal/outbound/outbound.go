// Package outbound bounds where this process connects to when users name the address: the
// API of a model, an MCP server, a lookup of a secret, a repository. On a server for others
// such an address must not lead to this machine, to its cloud's metadata service or into
// its private network (server-side request forgery).
//
// # Usage
//
//	outbound.Restrict(outbound.Policy{Internal: []string{"llm.corp.example"}}) // at the start
//
//	to := outbound.NewRoute(net.Dialer{})
//	transport := &http.Transport{Proxy: to.Proxy, DialContext: to.Dial}
//
// Clients of addresses that only the operator names, such as the database's, do not use
// it.
//
// # Concurrency and failure
//
// Restrict is called once, before the first connection; there is one policy because the
// clients, with their connections, are shared by all parts of the process. Everything else
// is safe for concurrent use. Addresses are judged after names were resolved, right before
// the connection, so that no name can change its meaning in between. A refusal is an error
// of kind fault.Denied; a name that has no address is Unavailable. Where a proxy connects, it
// resolves the name again: it should not reach private networks either.
package outbound

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/addresses"
)

// All in [Policy.Internal] lifts every restriction.
const All = "all"

// Policy lists the addresses that may be reached beside the public Internet.
type Policy struct {
	// Internal has names ("llm.example", ".example" for all below), with or without a
	// port, addresses and networks ("10.1.0.0/16").
	Internal []string
	// resolver and proxy are for tests; nil for the system's.
	resolver *net.Resolver
	proxy    func(*http.Request) (*url.URL, error)
}

var current atomic.Pointer[Policy]

// Route is the way of one transport's requests. A proxy that it has chosen is reached by it
// alone, and each of its requests is judged before.
type Route struct {
	dialer net.Dialer
	policy func() *Policy
	// The addresses of the proxies that were chosen. Only the environment names some.
	proxies sync.Map
}

// NewRoute returns the Proxy and the DialContext of an [http.Transport], which must use both.
func NewRoute(d net.Dialer) *Route { return &Route{dialer: d, policy: current.Load} }

// Restrict sets the policy of the process. Without it everything may be reached.
func Restrict(p Policy) { current.Store(&p) }

// Dial is for the DialContext of an [http.Transport].
func (t *Route) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	p := t.policy()
	if p == nil {
		return t.dialer.DialContext(ctx, network, address)
	}
	if _, proxy := t.proxies.Load(address); proxy {
		return t.dialer.DialContext(ctx, network, address)
	}
	return p.dial(ctx, t.dialer, network, address)
}

// Proxy is [http.ProxyFromEnvironment], for the Proxy of an [http.Transport]: where a proxy
// connects, the address is judged before it is asked. With proxies, it judges what is reached
// directly as well: Dial knows only the address, which may be a proxy's.
func (t *Route) Proxy(r *http.Request) (*url.URL, error) {
	p := t.policy()
	if p == nil {
		return http.ProxyFromEnvironment(r)
	}
	to, err := p.via(r)
	if to != nil {
		t.proxies.Store(net.JoinHostPort(to.Hostname(), portOf(to)), true)
	}
	return to, err
}

func (p *Policy) via(r *http.Request) (*url.URL, error) {
	choose := p.proxy
	if choose == nil {
		if !hasProxy() {
			return nil, nil //nolint:nilnil // no proxy
		}
		choose = http.ProxyFromEnvironment
	}
	to, err := choose(r)
	if err != nil {
		return nil, err
	}
	if _, err := p.resolve(r.Context(), r.URL.Hostname(), portOf(r.URL)); err != nil {
		return nil, err
	}
	return to, nil
}

// hasProxy reports whether the environment names a proxy. It is read once, as in net/http.
var hasProxy = sync.OnceValue(func() bool {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
})

// Resolve returns the addresses that a host may be reached at, for programs that connect
// themselves; none if there is no restriction, or if the policy names the host.
func Resolve(ctx context.Context, host, port string) ([]netip.Addr, error) {
	p := current.Load()
	if p == nil {
		return nil, nil
	}
	return p.resolve(ctx, host, port)
}

// Restricted reports whether there is a policy.
func Restricted() bool { return current.Load() != nil }

func (p *Policy) dial(ctx context.Context, d net.Dialer, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if p.named(host, port) {
		return d.DialContext(ctx, network, address)
	}
	if err := plain(host); err != nil {
		return nil, err
	}
	if p.resolver != nil {
		d.Resolver = p.resolver
	}
	d.ControlContext = func(_ context.Context, _, to string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(to)
		if err != nil {
			return err
		}
		return p.judge(host, at.Addr())
	}
	return d.DialContext(ctx, network, address)
}

// lookupTime bounds a look-up of a name that a proxy will resolve again.
const lookupTime = 2 * time.Second

func (p *Policy) resolve(ctx context.Context, host, port string) ([]netip.Addr, error) {
	if p.named(host, port) {
		return nil, nil
	}
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return []netip.Addr{a}, p.judge(host, a)
	}
	if name := strings.TrimSuffix(strings.ToLower(host), "."); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return nil, refused(host, "a loopback address")
	}
	if err := plain(host); err != nil {
		return nil, err
	}
	resolver := net.DefaultResolver
	if p.resolver != nil {
		resolver = p.resolver
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	all, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "could not resolve host "+strconv.Quote(host)).Because(err).
			Hint("check the name; if only a proxy can resolve it, the operator can name it in server.internal_hosts")
	}
	for _, a := range all {
		if err := p.judge(host, a); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// plain refuses names that programs read in different ways: numbers, which some take as an
// IPv4 address (2130706433, 127.1, 0x7f.1, 0177.0.0.1), and letters that some write in ASCII.
func plain(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	for _, c := range []byte(host) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"'%/\<>[]`, c) >= 0 {
			return refused(host, "a name that is not written in ASCII (xn--…)")
		}
	}
	last := strings.TrimRight(strings.ToLower(host), ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	if digits, ok := strings.CutPrefix(last, "0x"); ok && strings.Trim(digits, "0123456789abcdef") == "" || strings.Trim(last, "0123456789") == "" {
		return refused(host, "an address in an unusual form")
	}
	return nil
}

// named reports whether the policy names a host.
func (p *Policy) named(host, port string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, one := range p.Internal {
		name := strings.ToLower(one)
		if h, at, err := net.SplitHostPort(name); err == nil {
			if at != port {
				continue
			}
			name = h
		}
		if name == All || name == host || strings.HasPrefix(name, ".") && strings.HasSuffix(host, name) {
			return true
		}
	}
	return false
}

// judge decides about one address of a host.
func (p *Policy) judge(host string, a netip.Addr) error {
	a = a.WithZone("").Unmap()
	for _, one := range p.Internal {
		if network, err := netip.ParsePrefix(one); err == nil && network.Contains(a) {
			return nil
		}
		if address, err := netip.ParseAddr(one); err == nil && address.Unmap() == a {
			return nil
		}
	}
	own, err := addresses.Own()
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "list this machine's addresses")
	}
	if reach, what := addresses.Classify(a, own); reach != addresses.Public {
		return refused(host, what)
	}
	return nil
}

func refused(host, what string) error {
	return fault.New(fault.Denied, "this server does not connect to "+strconv.Quote(host)+" for its users: it is "+what).
		Hint("the operator can name it in server.internal_hosts")
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
