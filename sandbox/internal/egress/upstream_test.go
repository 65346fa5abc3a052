package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// upstream is the proxy of a company: it connects everything to one server, and
// wants credentials.
type upstream struct {
	url *url.URL
	to  string // where every tunnel goes

	mu  sync.Mutex
	got []string // its requests
}

func (u *upstream) asked() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strings.Join(u.got, " ")
}

func (u *upstream) serve(t *testing.T, c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	user, password, ok := parseProxyAuth(r)
	if !ok || user != "corp" || password != "s3cret" {
		fmt.Fprint(c, "HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
		return
	}
	u.mu.Lock()
	u.got = append(u.got, r.Method+" "+r.RequestURI)
	u.mu.Unlock()
	if r.Method != "CONNECT" {
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine")
		return
	}
	if strings.HasPrefix(r.RequestURI, "forbidden") {
		fmt.Fprint(c, "HTTP/1.1 403 Not here\r\nContent-Length: 0\r\n\r\n")
		return
	}
	to, err := net.Dial("tcp", u.to)
	if err != nil {
		t.Error(err)
		return
	}
	defer to.Close()
	fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(c, to)
		c.Close()
	}()
	_, _ = io.Copy(to, in)
	to.Close()
	<-done
}

func parseProxyAuth(r *http.Request) (user, password string, ok bool) {
	clone := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	return clone.BasicAuth()
}

func newUpstream(t *testing.T, to string) *upstream {
	t.Helper()
	l := listen(t, "127.0.0.1:0") // its own address may be any: the user configured it
	u := &upstream{url: &url.URL{Scheme: "http", Host: l.Addr().String(), User: url.UserPassword("corp", "s3cret")}, to: to}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { u.serve(t, c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return u
}

func TestUpstream(t *testing.T) {
	t.Parallel()
	port, ca := site(t, asPublic, true, hello)
	u := newUpstream(t, asPublic+":"+port)
	n := &names{addrs: map[string][]string{"loop.test": {"127.0.0.1"}, "direct.test": {asPublic}, "intranet.test": {asPrivate}}}
	p := newProxy(Options{Network: "open,granted.test,forbidden.test", Resolver: n.resolver(t), Upstream: func(r *http.Request) (*url.URL, error) {
		if r.URL.Hostname() == "direct.test" { // as NO_PROXY has it
			return nil, nil
		}
		return u.url, nil
	}})
	proxy := serve(t, p)
	c := through(t, proxy, ca)
	if got := get(t, c, "https://outer.test"); got != "200 hello" { // resolved there only
		t.Error(got)
	}
	if got := get(t, c, "http://outer.test/x?q=1"); got != "200 fine" {
		t.Error(got)
	}
	if got, want := u.asked(), "CONNECT outer.test:443 GET http://outer.test/x?q=1"; got != want {
		t.Errorf("the upstream proxy was asked %q, want %q", got, want)
	}
	if got := get(t, c, "https://direct.test:"+port); got != "200 hello" {
		t.Error(got)
	}
	for target, want := range map[string]string{
		"127.0.0.1:80": "no sandbox may reach", "localhost:80": "no sandbox may reach", "a.localhost:80": "no sandbox may reach", "loop.test:80": "no sandbox may reach",
		"169.254.169.254:80": "no sandbox may reach", "[::1]:80": "no sandbox may reach", "10.0.0.1:80": "is a private address", "intranet.test:80": "is a private address",
		"127.1:80": "is not a host with a port", u.url.Host: "no sandbox may reach",
	} {
		for _, method := range []string{"CONNECT", "GET"} {
			if got := exchange(t, proxy, method, target); !strings.Contains(got, want) {
				t.Errorf("%s %s: %s", method, target, got)
			}
		}
	}
	if got := exchange(t, proxy, "CONNECT", "forbidden.test:443"); !strings.HasPrefix(got, "HTTP/1.1 502 ") || strings.Contains(got, "s3cret") {
		t.Error(got)
	}
	if got, want := u.asked(), "CONNECT outer.test:443 GET http://outer.test/x?q=1 CONNECT forbidden.test:443"; got != want {
		t.Errorf("the upstream proxy was asked %q, want %q", got, want)
	}
}

// TestUpstreamOfAnotherKind proves that a proxy that is not supported is not
// passed by.
func TestUpstreamOfAnotherKind(t *testing.T) {
	t.Parallel()
	proxy := start(t, Options{Network: "open", Upstream: func(*http.Request) (*url.URL, error) {
		return &url.URL{Scheme: "socks4", Host: "127.0.0.1:1"}, nil
	}})
	for _, method := range []string{"CONNECT", "GET"} {
		if got := exchange(t, proxy, method, "8.8.8.8:443"); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
			t.Error(got)
		}
	}
}
