package outbound

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// names answers every question with one address, as a hostile name server may.
func names(t *testing.T, answer netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	must.Succeed(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		for buf := make([]byte, 512); ; {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			if _, err = server.WriteTo(answered(buf[:n], answer), from); err != nil {
				return
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answered makes an answer of a query (RFC 1035 section 4): one address, or none for other
// types than A.
func answered(query []byte, answer netip.Addr) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // the root, the type and the class
	out := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	if query[end-3] == 1 {
		out[7] = 1
		ip := answer.As4()
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, ip[:]...)
	}
	return out
}

func TestDial(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	must.Succeed(t, err)
	port := u.Port()
	for _, c := range []struct {
		name     string
		internal []string
		host     string
		refused  bool
	}{
		{"this machine", nil, "127.0.0.1", true},
		{"by a name", nil, "evil.test", true},
		{"as IPv6", nil, "::ffff:127.0.0.1", true},
		{"a private address", nil, "10.1.2.3", true},
		{"the metadata service", nil, "169.254.169.254", true},
		{"named host", []string{"evil.test"}, "evil.test", false},
		{"named host of another port", []string{"evil.test:1"}, "evil.test", true},
		{"named host and port", []string{"evil.test:" + port}, "evil.test", false},
		{"named above", []string{".test"}, "evil.test", false},
		{"not below", []string{"il.test"}, "evil.test", true},
		{"named network", []string{"127.0.0.0/8"}, "127.0.0.1", false},
		{"named network by a name", []string{"127.0.0.0/8"}, "evil.test", false},
		{"named address", []string{"127.0.0.1"}, "127.0.0.1", false},
		{"other address", []string{"127.0.0.2"}, "127.0.0.1", true},
		{"all", []string{All}, "evil.test", false},
		{"a number", nil, "2130706433", true},
		{"a hexadecimal number", nil, "0x7f000001", true},
		{"an octal number", nil, "017700000001", true},
		{"two parts", nil, "127.1", true},
		{"three parts", nil, "127.0.1", true},
		{"octal parts", nil, "0177.0.0.1", true},
		{"hexadecimal parts", nil, "0x7F.0x0.0x0.0x1", true},
		{"an empty hexadecimal part", nil, "127.0.0.0x", true},
		{"zero", nil, "0", true},
		{"a dot at the end", nil, "127.0.0.1.", true},
		{"a number and a dot", nil, "2130706433.", true},
		{"wide digits", nil, "１２７.0.0.1", true},
		{"digits in circles", nil, "①②⑦.⓪.⓪.①", true},
		{"another full stop", nil, "127。0。0。1", true},
		{"a percent sign", nil, "127%2e0.0.1", true},
		{"a name by a number", []string{".test"}, "127.1", true},
		{"IPv4 in IPv6", nil, "::127.0.0.1", true},
		{"IPv4 behind NAT64", nil, "64:ff9b::7f00:1", true},
		{"a zone", nil, "fe80::1%lo", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &Policy{Internal: c.internal, resolver: names(t, netip.MustParseAddr("127.0.0.1"))}
			conn, err := p.dial(t.Context(), net.Dialer{Resolver: p.resolver}, "tcp", net.JoinHostPort(c.host, port))
			if err == nil {
				conn.Close()
			}
			if got := fault.Is(err, fault.Denied); got != c.refused || !c.refused && err != nil {
				t.Errorf("got %v", err)
			}
			_, err = p.resolve(t.Context(), c.host, port)
			if got := fault.Is(err, fault.Denied); got != c.refused {
				t.Errorf("to resolve: %v", err)
			}
		})
	}
}

func TestPublic(t *testing.T) {
	t.Parallel()
	p := &Policy{resolver: names(t, netip.MustParseAddr("8.8.8.8"))}
	got, err := p.resolve(t.Context(), "site.test", "443")
	if err != nil || len(got) != 1 || got[0].Unmap() != netip.MustParseAddr("8.8.8.8") {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := p.resolve(t.Context(), "a.localhost", "443"); !fault.Is(err, fault.Denied) {
		t.Errorf("a name of this machine: %v", err)
	}
}

// TestUnresolved: a name without an address is not left to a proxy, or to a program that
// resolves it again.
func TestUnresolved(t *testing.T) {
	t.Parallel()
	p := &Policy{resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, net.ErrClosed
	}}, Internal: []string{"known.test"}}
	if got, err := p.resolve(t.Context(), "unknown.test", "443"); got != nil || !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := p.resolve(t.Context(), "known.test", "443"); err != nil {
		t.Errorf("a named host: %v", err)
	}
}

// TestProxyIsNotATarget: what is reached through a proxy is judged, and the proxy's own
// address stays closed to requests for it.
func TestProxyIsNotATarget(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.RequestURI }))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	must.Succeed(t, err)
	p := &Policy{resolver: names(t, netip.MustParseAddr("8.8.8.8")), proxy: func(r *http.Request) (*url.URL, error) {
		if r.URL.Host == at.Host {
			return nil, nil // as net/http does for loopback
		}
		return at, nil
	}}
	route := &Route{policy: func() *Policy { return p }}
	c := &http.Client{Transport: &http.Transport{Proxy: route.Proxy, DisableKeepAlives: true, DialContext: route.Dial}}
	for to, denied := range map[string]bool{
		"http://site.test/": false, proxy.URL: true, "http://2130706433:" + at.Port(): true, "http://127.1/": true, "http://0/": true, "http://10.0.0.1/": true,
	} {
		for range 2 { // before and after the proxy was used
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
			must.Succeed(t, err)
			res, err := c.Do(r)
			if err == nil {
				res.Body.Close()
			}
			if fault.Is(err, fault.Denied) != denied || !denied && err != nil {
				t.Errorf("%s: %v", to, err)
			}
		}
	}
	other := &Route{policy: route.policy} // of another owner, say: the proxy was not chosen for it
	if _, err := other.Dial(t.Context(), "tcp", at.Host); !fault.Is(err, fault.Denied) {
		t.Errorf("another route reaches the proxy: %v", err)
	}
	if len(asked) != 2 || <-asked != "http://site.test/" {
		t.Errorf("the proxy was asked %d times", len(asked))
	}
}

func TestUnrestricted(t *testing.T) {
	t.Parallel()
	if Restricted() {
		t.Fatal("another test has set a policy")
	}
	if got, err := Resolve(t.Context(), "127.0.0.1", "80"); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
