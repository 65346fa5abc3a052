package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/internal/addresses"
	"github.com/deft-dev/deft/sandbox"
)

// lookupTimeout bounds the look-up of a name that an upstream proxy will resolve.
const lookupTimeout = time.Second

// target is where a request wants to go.
type target struct {
	host    string     // a lower-case name without a final dot, or an address
	addr    netip.Addr // valid for an address
	port    uint16
	granted bool // by name
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(int(t.port))) }

// parseTarget reads "host:port" with an IPv6 address in brackets. A port of 0
// makes the port necessary.
func parseTarget(authority string, port uint16) (target, error) {
	t := target{port: port}
	host := authority
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		n, err := strconv.ParseUint(authority[i+1:], 10, 16)
		if err != nil || n == 0 {
			return t, badTarget{authority}
		}
		host, t.port = authority[:i], uint16(n)
	}
	if t.port == 0 {
		return t, badTarget{authority}
	}
	inner, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		var closed bool
		if host, closed = strings.CutSuffix(inner, "]"); !closed {
			return t, badTarget{authority}
		}
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" && bracketed == a.Is6() {
		t.addr = a.Unmap()
		t.host = t.addr.String()
		return t, nil
	}
	t.host = strings.TrimSuffix(strings.ToLower(host), ".")
	if bracketed || !sandbox.ValidHostname(t.host) {
		return t, badTarget{authority}
	}
	return t, nil
}

// admit judges a host by the list; the result says whether it is granted by name.
func (p *Proxy) admit(t target) (granted bool, err error) {
	granted = p.o.Network.Grants(t.host, t.port)
	if !granted && !p.o.Network.Open() {
		return false, refusal{t, "is not a host that this sandbox may reach", p.flag(t)}
	}
	return granted, nil
}

// flag is the flag that would let a target be reached, "" if none would.
func (p *Proxy) flag(t target) string {
	if t.host == "localhost" || strings.HasSuffix(t.host, ".localhost") {
		return ""
	}
	if t.addr.IsValid() {
		if reach, _ := p.classify(t.addr); reach == addresses.Never {
			return ""
		}
	}
	list := sandbox.Network(t.host)
	if p.o.Network.Open() {
		list = "open," + list
	}
	if _, err := sandbox.ParseNetwork(string(list)); err != nil {
		return ""
	}
	return "--net=" + string(list)
}

// judge decides about one address of a target.
func (p *Proxy) judge(t target, a netip.Addr) error {
	r, what := p.classify(a)
	switch {
	case r == addresses.Never:
		return refusal{t, "is " + what + ", which no sandbox may reach", ""}
	case r == addresses.Private && !t.granted:
		return refusal{t, "is " + what, p.flag(t)}
	}
	return nil
}

// judgeForUpstream judges a target that an upstream proxy will connect to. Where
// only that proxy can resolve names, a name passes.
func (p *Proxy) judgeForUpstream(ctx context.Context, t target) error {
	if t.addr.IsValid() {
		return p.judge(t, t.addr)
	}
	if t.host == "localhost" || strings.HasSuffix(t.host, ".localhost") {
		return refusal{t, "is a loopback address, which no sandbox may reach", ""}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := p.o.Resolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if err := p.judge(t, a); err != nil {
			return err
		}
	}
	return nil
}

// dialAddress connects for plain HTTP.
func (p *Proxy) dialAddress(ctx context.Context, _, address string) (net.Conn, error) {
	t, err := parseTarget(address, 0)
	if err != nil {
		return nil, err
	}
	if t.granted, err = p.admit(t); err != nil {
		return nil, err
	}
	return p.dial(ctx, t)
}

// dial connects to the first address of the target that may be reached and
// answers. Each is judged when its socket is made, right before the connection.
func (p *Proxy) dial(ctx context.Context, t target) (net.Conn, error) {
	d := net.Dialer{
		Timeout: dialTimeout, Resolver: p.o.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return p.judge(t, to.Addr())
		},
	}
	conn, err := p.dialFirst(ctx, d, t)
	if err != nil {
		return nil, unreachable{t, err}
	}
	// The kernel takes an own address as the source of a connection to itself: no list
	// of interfaces tells this machine's addresses as surely.
	if addressOf(conn.LocalAddr()) == addressOf(conn.RemoteAddr()) {
		conn.Close()
		return nil, refusal{t, "is an address of this machine, which no sandbox may reach", ""}
	}
	return conn, nil
}

// dialFirst connects to the first address that answers.
func (p *Proxy) dialFirst(ctx context.Context, d net.Dialer, t target) (conn net.Conn, err error) {
	fixed := p.fixed(t.host)
	if len(fixed) == 0 {
		return d.DialContext(ctx, "tcp", t.String())
	}
	for _, address := range fixed {
		if conn, err = d.DialContext(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(int(t.port)))); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func addressOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// badTarget is a target that cannot be understood.
type badTarget struct{ text string }

func (e badTarget) Error() string { return fmt.Sprintf("%.300q is not a host with a port", e.text) }

// refusal is a target that the sandbox may not reach. Its text fits in the first
// line of a response: hosts have no spaces or control characters.
type refusal struct {
	target target
	why    string
	flag   string // the flag that would allow it
}

func (e refusal) Error() string {
	s := e.target.host + " " + e.why
	if e.flag != "" {
		s += " (" + e.flag + " allows it)"
	}
	return s
}

// unreachable is a target that did not answer.
type unreachable struct {
	target target
	err    error
}

func (e unreachable) Error() string {
	reason := "it does not answer"
	var dns *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.As(e.err, &dns):
		reason = "its name cannot be resolved"
	case errors.As(e.err, &errno):
		reason = errno.Error()
	}
	return "cannot reach " + e.target.String() + ": " + reason
}

func (e unreachable) Unwrap() error { return e.err }

// status returns the status and the text of the answer for an error.
func status(err error) (int, string) {
	var refused refusal
	var bad badTarget
	var timeout net.Error
	var down unreachable
	switch {
	case errors.As(err, &refused):
		return http.StatusForbidden, "deft: " + refused.Error()
	case errors.As(err, &bad):
		return http.StatusBadRequest, "deft: " + bad.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return http.StatusGatewayTimeout, "deft: the host does not answer in time"
	case errors.As(err, &down):
		return http.StatusBadGateway, "deft: " + down.Error()
	}
	return http.StatusBadGateway, "deft: the request could not be forwarded"
}

// answer says why there is no answer of the target's.
func answer(w http.ResponseWriter, err error) {
	code, text := status(err)
	http.Error(w, text, code)
}
