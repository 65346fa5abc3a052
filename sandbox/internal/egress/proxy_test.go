package egress

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/addresses"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

func TestMain(m *testing.M) {
	// Half a second after a bad request net/http's server ends by itself.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// Addresses of this machine that stand for others in these tests.
const (
	asPublic  = "127.0.0.2"
	asPrivate = "127.0.0.3"
)

// judged classifies as the product does, but for the addresses above.
func judged(a netip.Addr) (addresses.Reach, string) {
	switch a.Unmap().String() {
	case asPublic:
		return addresses.Public, ""
	case asPrivate:
		return addresses.Private, "a private address"
	}
	return addresses.Classify(a, nil)
}

// start serves a proxy and returns its address.
func start(t testing.TB, o Options) *url.URL {
	t.Helper()
	return serve(t, newProxy(o))
}

func newProxy(o Options) *Proxy {
	p := New(o)
	p.classify = judged
	return p
}

func serve(t testing.TB, p *Proxy) *url.URL {
	t.Helper()
	l := listen(t, "127.0.0.1:0")
	done := make(chan error, 1)
	go func() { done <- p.Serve(l) }()
	t.Cleanup(func() {
		must.Report(t, p.Close())
		must.Report(t, <-done)
	})
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	must.Succeed(t, err)
	return l
}

// site serves h at an address of this machine and returns its port.
func site(t *testing.T, address string, secure bool, h http.HandlerFunc) (port string, ca *x509.Certificate) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = listen(t, address+":0")
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return port, s.Certificate()
}

// through returns a client of the proxy that trusts ca.
func through(t *testing.T, proxy *url.URL, ca *x509.Certificate) *http.Client {
	t.Helper()
	tr := &http.Transport{Proxy: http.ProxyURL(proxy), DisableCompression: true}
	if ca != nil {
		tr.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"}
		tr.TLSClientConfig.RootCAs.AddCert(ca)
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// get returns the status and body, or the error.
func get(t *testing.T, c *http.Client, address string) string {
	t.Helper()
	resp, err := c.Get(address)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }

func TestTunnel(t *testing.T) {
	t.Parallel()
	n := &names{addrs: map[string][]string{"site.test": {asPublic}}}
	port, ca := site(t, asPublic, true, hello)
	proxy := start(t, Options{Network: "site.test", Resolver: n.resolver(t)})
	c := through(t, proxy, ca)
	for range 2 {
		if got := get(t, c, "https://site.test:"+port); got != "200 hello" {
			t.Error(got)
		}
	}
}

// TestHalfClosed proves that a client that has sent everything still gets its
// answer, and that its early bytes arrive.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	l := listen(t, asPublic+":0")
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		all, _ := io.ReadAll(c)
		fmt.Fprintf(c, "got %s", all)
	}()
	proxy := start(t, Options{Network: sandbox.Network(asPublic)})
	c, err := net.Dial("tcp", proxy.Host)
	must.Succeed(t, err)
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\n\r\nearly", l.Addr())
	in := bufio.NewReader(c)
	if resp, err := http.ReadResponse(in, &http.Request{Method: "CONNECT"}); err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	fmt.Fprint(c, " and late")
	must.Succeed(t, c.(*net.TCPConn).CloseWrite())
	if got, err := io.ReadAll(in); string(got) != "got early and late" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	port, _ := site(t, asPublic, false, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Keep-Alive", "timeout=99")
		w.Header().Set("X-Answer", "kept")
		fmt.Fprintf(w, "%s %s %s %s\n%v", r.Method, r.RequestURI, r.Host, body, r.Header)
	})
	n := &names{addrs: map[string][]string{"site.test": {asPublic}}}
	proxy := start(t, Options{Network: "site.test", Token: "token", Resolver: n.resolver(t)})
	proxy.User = url.UserPassword("deft", "token")
	req, err := http.NewRequest("PATCH", "http://site.test:"+port+"/a%2Fb?x=1;y=%zz&z", strings.NewReader("body"))
	must.Succeed(t, err)
	for k, v := range map[string]string{"Connection": "X-Hop", "X-Hop": "1", "Proxy-Connection": "keep-alive", "X-End": "2", "Authorization": "Bearer a"} {
		req.Header.Set(k, v)
	}
	resp, err := through(t, proxy, nil).Do(req)
	must.Succeed(t, err)
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	got := string(raw)
	if want := "PATCH /a%2Fb?x=1;y=%zz&z site.test:" + port + " body\n"; !strings.HasPrefix(got, want) {
		t.Errorf("the server got %q", got)
	}
	for _, gone := range []string{"X-Hop", "Proxy-", "Forwarded"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s was forwarded: %s", gone, got)
		}
	}
	if !strings.Contains(got, "X-End:[2]") || !strings.Contains(got, "Authorization:[Bearer a]") || resp.Header.Get("X-Answer") != "kept" || resp.Header.Get("Keep-Alive") != "" {
		t.Errorf("%s\n%v", got, resp.Header)
	}
}

// TestStream proves that an answer arrives while it is made.
func TestStream(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	port, _ := site(t, asPublic, false, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		<-more
		fmt.Fprint(w, "second\n")
	})
	resp, err := through(t, start(t, Options{Network: sandbox.Network(asPublic)}), nil).Get("http://" + asPublic + ":" + port)
	must.Succeed(t, err)
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	if line, err := in.ReadString('\n'); line != "first\n" {
		t.Error(line, err)
	}
	close(more)
	if line, err := in.ReadString('\n'); line != "second\n" {
		t.Error(line, err)
	}
}

// TestRefused proves, for both kinds of requests, the refusals and their reasons,
// and that no name is looked up that is not granted.
func TestRefused(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	count := func(http.ResponseWriter, *http.Request) { reached.Add(1) }
	port, _ := site(t, "127.0.0.1", false, count)
	port6, _ := site(t, "[::1]", false, count)
	portPrivate, _ := site(t, asPrivate, false, hello)
	for _, c := range []struct {
		network, target string
		want            string // "" for an answer of the server
	}{
		{"none", "site.test:80", "is not a host that this sandbox may reach (--net=site.test allows it)"},
		{"other.test", "SITE.test.:80", "site.test is not a host that this sandbox may reach (--net=site.test allows it)"},
		{"other.test", "127.0.0.1:" + port, "127.0.0.1 is not a host that this sandbox may reach"},
		{"other.test", "[::1]:" + port6, "::1 is not a host that this sandbox may reach"},
		{"none", "169.254.169.254:80", "169.254.169.254 is not a host that this sandbox may reach"},
		{"none", "[2a00::1]:80", "2a00::1 is not a host that this sandbox may reach (--net=2a00::1 allows it)"},
		{"none", "localhost:" + port, "localhost is not a host that this sandbox may reach"},
		{"site.test:443", "site.test:80", "is not a host that this sandbox may reach"},
		{"open", "loop.test:" + port, "loop.test is a loopback address, which no sandbox may reach"},
		{"loop.test", "loop.test:" + port, "which no sandbox may reach"},
		{".test", "loop.test:" + port, "which no sandbox may reach"},
		{"open", "loop6.test:" + port6, "which no sandbox may reach"},
		{"loop6.test", "loop6.test:" + port6, "which no sandbox may reach"},
		{"mapped.test", "mapped.test:" + port, "which no sandbox may reach"},
		{"open", "localhost:" + port, "which no sandbox may reach"},
		{"localhost,127.0.0.1", "localhost:" + port, "which no sandbox may reach"},
		{"open,127.0.0.1", "127.0.0.1:" + port, "which no sandbox may reach"},
		{"open,::1", "[::1]:" + port6, "which no sandbox may reach"},
		{"open,127.0.0.1", "[::ffff:127.0.0.1]:" + port, "which no sandbox may reach"},
		{"open", "0.0.0.0:" + port, "is an unspecified address, which no sandbox may reach"},
		{"open,169.254.169.254", "169.254.169.254:80", "metadata service, which no sandbox may reach"},
		{"open,metadata.test", "metadata.test:80", "metadata service, which no sandbox may reach"},
		{"open", "[fe80::1]:80", "is a link-local address, which no sandbox may reach"},
		{"open", "private.test:" + portPrivate, "private.test is a private address (--net=open,private.test allows it)"},
		{"open", asPrivate + ":" + portPrivate, "is a private address (--net=open,127.0.0.3 allows it)"},
		{"open,private.test", asPrivate + ":" + portPrivate, "is a private address"}, // by another name
		{"open,private.test", "private.test:" + portPrivate, ""},
		{"open,private.test", "both.test:" + portPrivate, "both.test is "},
		{"private.test", "private.test:" + portPrivate, ""},
		{".test", "private.test:" + portPrivate, ""},
		{"both.test", "both.test:" + portPrivate, ""}, // one of its addresses may be reached
		{asPrivate, asPrivate + ":" + portPrivate, ""},
		{"open", "nowhere.test:80", "cannot reach nowhere.test:80: its name cannot be resolved"},
		{asPublic, asPublic + ":1", "cannot reach 127.0.0.2:1: connection refused"},
		{"open", "127.1:" + port, "is not a host with a port"},
		{"open", "2130706433:" + port, "is not a host with a port"},
		{"open", "0x7f.0.0.0x1:" + port, "is not a host with a port"},
		{"open", "0177.0.0.1:" + port, "is not a host with a port"},
		{"open", "[127.0.0.1]:" + port, "400 Bad Request"}, // by net/http
		{"open", "[::1%25lo]:" + port6, "is not a host with a port"},
		{"open", "a_b..test:80", "is not a host with a port"},
	} {
		for _, method := range []string{"CONNECT", "GET"} {
			t.Run(method+" "+c.target+" by "+c.network, func(t *testing.T) {
				t.Parallel()
				n := &names{addrs: map[string][]string{
					"loop.test": {"127.0.0.1"}, "loop6.test": {"::1"}, "mapped.test": {"::ffff:127.0.0.1"}, "metadata.test": {"169.254.169.254"},
					"private.test": {asPrivate}, "both.test": {"127.0.0.1", "::1", asPrivate}, "site.test": {asPublic},
				}}
				proxy := start(t, Options{Network: sandbox.Network(c.network), Resolver: n.resolver(t)})
				got := exchange(t, proxy, method, c.target)
				switch {
				case c.want == "" && !strings.HasPrefix(got, "HTTP/1.1 200 "):
					t.Error(got)
				case c.want != "" && (strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.Contains(got, c.want)):
					t.Errorf("%s\nwant %s", got, c.want)
				case strings.Contains(c.want, "not a host that this sandbox") && n.asked() != "":
					t.Errorf("looked up %s", n.asked())
				case strings.Contains(got, "allows it") && (strings.Contains(got, "=127.0.0.1") || strings.Contains(got, "=::1") || strings.Contains(got, "=169") || strings.Contains(got, "=localhost")):
					t.Errorf("no flag allows it: %s", got)
				}
				if line, _, _ := strings.Cut(got, "\r\n"); c.want != "" && method == "CONNECT" && !strings.Contains(line, c.want) {
					t.Errorf("the first line is %q", line)
				}
			})
		}
	}
	t.Cleanup(func() {
		if n := reached.Load(); n != 0 {
			t.Errorf("servers on loopback were reached %d times", n)
		}
	})
}

// exchange sends one request and returns the answer.
func exchange(t *testing.T, proxy *url.URL, method, target string) string {
	t.Helper()
	c, err := net.Dial("tcp", proxy.Host)
	must.Succeed(t, err)
	defer c.Close()
	if method == "CONNECT" {
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
		resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: "CONNECT"})
		must.Succeed(t, err)
		body := []byte{}
		if resp.StatusCode != 200 {
			body, _ = io.ReadAll(resp.Body)
		}
		return "HTTP/1.1 " + resp.Status + "\r\n" + string(body)
	}
	fmt.Fprintf(c, "%s http://%s/ HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n", method, target)
	got, err := io.ReadAll(c)
	must.Succeed(t, err)
	return string(got)
}

// TestRedirect proves that each redirect is judged.
func TestRedirect(t *testing.T) {
	t.Parallel()
	inside, _ := site(t, "127.0.0.1", false, func(http.ResponseWriter, *http.Request) { t.Error("reached by a redirect") })
	for _, to := range []string{"http://127.0.0.1:" + inside, "http://loop.test:" + inside, "http://[::ffff:127.0.0.1]:" + inside} {
		port, ca := site(t, asPublic, true, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) })
		n := &names{addrs: map[string][]string{"site.test": {asPublic}, "loop.test": {"127.0.0.1"}}}
		c := through(t, start(t, Options{Network: "open,site.test,127.0.0.1,loop.test", Resolver: n.resolver(t)}), ca)
		if got := get(t, c, "https://site.test:"+port); !strings.HasPrefix(got, "403 deft: ") || !strings.Contains(got, "no sandbox may reach") {
			t.Errorf("to %s: %s", to, got)
		}
	}
}

// TestRebinding proves that the address that was judged is the one that is used,
// whatever the name server says next.
func TestRebinding(t *testing.T) {
	t.Parallel()
	l, own, port := samePort(t)
	good := &http.Server{Handler: http.HandlerFunc(hello)}
	bad := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") })}
	go func() { _ = good.Serve(l) }()
	go func() { _ = bad.Serve(own) }()
	defer good.Close()
	defer bad.Close()
	count := 0
	n := &names{next: map[string]func() []string{"turn.test": func() []string {
		if count++; count%4 < 2 { // two queries, A and AAAA, for each look-up
			return []string{asPublic}
		}
		return []string{"127.0.0.1"}
	}}}
	c := through(t, start(t, Options{Network: "turn.test", Resolver: n.resolver(t)}), nil)
	c.Transport.(*http.Transport).DisableKeepAlives = true
	seen := map[string]int{}
	for range 20 {
		seen[get(t, c, fmt.Sprint("http://turn.test:", port))[:3]]++
	}
	if seen["200"] == 0 || seen["403"]+seen["200"] != 20 {
		t.Errorf("answers by status: %v", seen)
	}
}

// samePort listens at one port of asPublic and of this machine.
func samePort(t *testing.T) (l, own net.Listener, port int) {
	t.Helper()
	for range 100 { // the port may be in use on 127.0.0.1
		l = listen(t, asPublic+":0")
		port = l.Addr().(*net.TCPAddr).Port
		var err error
		if own, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			return l, own, port
		}
		l.Close()
	}
	t.Fatal("100 ports are in use on 127.0.0.1")
	return nil, nil, 0
}

// TestHostHeader proves that a server is told the host that was judged.
func TestHostHeader(t *testing.T) {
	t.Parallel()
	port, _ := site(t, asPublic, false, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "host=", r.Host) })
	proxy := start(t, Options{Network: sandbox.Network(asPublic)})
	got := exchange(t, proxy, "GET", asPublic+":"+port) // says Host: example.com
	if !strings.HasSuffix(got, "host="+asPublic+":"+port) {
		t.Error(got)
	}
}

// TestClose proves that Close ends a tunnel and a connection that left HTTP, and
// waits for their goroutines.
func TestClose(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	port, _ := site(t, asPublic, false, func(w http.ResponseWriter, _ *http.Request) {
		c, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(c, in)
		ended <- struct{}{}
	})
	p := newProxy(Options{Network: sandbox.Network(asPublic)})
	l := listen(t, "127.0.0.1:0")
	done := make(chan error, 1)
	go func() { done <- p.Serve(l) }()
	var open []net.Conn
	to := asPublic + ":" + port
	for _, request := range []string{
		"CONNECT " + to + " HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
		"GET http://" + to + "/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		must.Succeed(t, err)
		defer c.Close()
		open = append(open, c)
		fmt.Fprint(c, request)
		for in := bufio.NewReader(c); ; {
			resp, err := http.ReadResponse(in, &http.Request{Method: "CONNECT"})
			must.Succeed(t, err)
			if resp.StatusCode == http.StatusSwitchingProtocols {
				break
			}
		}
		hello := []byte("hello")
		if _, err := c.Write(hello); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, hello); err != nil || string(hello) != "hello" {
			t.Fatalf("%q, %v", hello, err)
		}
	}
	must.Report(t, p.Close())
	must.Report(t, <-done)
	for i, c := range open {
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("connection %d: read %d bytes after Close", i, n)
		}
		c.Close()
	}
	for range open {
		<-ended // at the site
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	port, _ := site(t, asPublic, false, hello)
	proxy := start(t, Options{Network: sandbox.Network(asPublic), Token: "right"})
	for user, want := range map[*url.Userinfo]string{
		nil:                                "407 deft: the proxy of a sandbox is for its commands only",
		url.UserPassword("deft", "wrong"):  "407 deft: the proxy of a sandbox is for its commands only",
		url.UserPassword("right", ""):      "407 deft: the proxy of a sandbox is for its commands only",
		url.UserPassword("deft", "right"):  "200 hello",
		url.UserPassword("other", "right"): "200 hello",
	} {
		proxy.User = user
		if got := get(t, through(t, proxy, nil), "http://"+asPublic+":"+port); got != want {
			t.Errorf("%v: %s", user, got)
		}
	}
	proxy.User = nil
	if got := exchange(t, proxy, "CONNECT", asPublic+":"+port); !strings.HasPrefix(got, "HTTP/1.1 407 ") {
		t.Error(got)
	}
}

func TestNotARequestForAProxy(t *testing.T) {
	t.Parallel()
	proxy := start(t, Options{Network: "open"})
	for _, request := range []string{
		"GET / HTTP/1.1\r\nHost: site.test\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: site.test\r\n\r\n", "GET https://site.test/ HTTP/1.1\r\nHost: site.test\r\n\r\n",
		"GET ftp://site.test/ HTTP/1.1\r\nHost: site.test\r\n\r\n", "GET http:/// HTTP/1.1\r\nHost: site.test\r\n\r\n", "CONNECT site.test HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n",
		"GET http://site.test/ HTTP/1.1\r\nHost: site.test\r\nX: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n",
	} {
		c, err := net.Dial("tcp", proxy.Host)
		must.Succeed(t, err)
		_, _ = io.WriteString(c, request)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode/100 != 4 {
			t.Errorf("%.60q: %v, %v", request, resp, err)
		}
		c.Close()
	}
}

// TestConnectionsAreBounded proves that one more client than there are slots waits
// until another one has gone.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	port, _ := site(t, asPublic, false, hello)
	p := newProxy(Options{Network: sandbox.Network(asPublic)})
	p.slots = make(chan struct{}, 2)
	proxy := serve(t, p)
	var open []net.Conn
	for range 2 { // one tunnel, one idle connection
		c, err := net.Dial("tcp", proxy.Host)
		must.Succeed(t, err)
		defer c.Close()
		open = append(open, c)
	}
	fmt.Fprintf(open[0], "CONNECT %s:%s HTTP/1.1\r\n\r\n", asPublic, port)
	if resp, err := http.ReadResponse(bufio.NewReader(open[0]), nil); err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	answered := make(chan string, 1)
	go func() { answered <- get(t, through(t, proxy, nil), "http://"+asPublic+":"+port) }()
	select {
	case got := <-answered:
		t.Fatal("served at once: ", got)
	default:
	}
	open[0].Close()
	if got := <-answered; got != "200 hello" {
		t.Error(got)
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"a.test:443", "[::1]:80", "1.2.3.4", "[::ffff:1.2.3.4]:1", "127.1:80", "a:b:c", "[fe80::1%lo]:1", "A.TEST.:65536", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTarget(text, 0)
		if err != nil {
			return
		}
		again, err := parseTarget(got.String(), 0)
		if err != nil || again != got {
			t.Errorf("%q is %v, that is %v, %v", text, got, again, err)
		}
		if a, err := netip.ParseAddr(got.host); err == nil && a != got.addr {
			t.Errorf("%q: the name %q is an address", text, got.host)
		}
		if strings.ContainsAny(got.host, " \r\n\t/@%") {
			t.Errorf("%q: host %q", text, got.host)
		}
	})
}
