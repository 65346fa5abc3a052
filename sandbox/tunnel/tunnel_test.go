package tunnel_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/tunnel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "the-session-key"

// echo answers each line of the connections of a tunnel, and ends with the test.
func echo(t *testing.T) (l net.Listener, address string) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	l = tunnel.Listen(inner, key)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					fmt.Fprintln(c, "echo", lines.Text())
				}
			}()
		}
	}()
	t.Cleanup(func() {
		must.Report(t, l.Close())
		<-done
	})
	return l, inner.Addr().String()
}

func talk(t *testing.T, d tunnel.Dialer) {
	t.Helper()
	c, err := d.Dial(t.Context())
	must.Succeed(t, err)
	defer c.Close()
	r := bufio.NewReader(c)
	for i := range 3 {
		fmt.Fprintln(c, i)
		if got, err := r.ReadString('\n'); err != nil || got != fmt.Sprintf("echo %d\n", i) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if c.RemoteAddr() == nil || c.LocalAddr() == nil {
		t.Error("no addresses")
	}
}

// TestTunnel goes straight, through a proxy like a Runtime API's, and with TLS.
func TestTunnel(t *testing.T) {
	_, address := echo(t)
	direct := "http://" + address
	talk(t, tunnel.Dialer{URL: direct, Key: key})
	talk(t, tunnel.Dialer{URL: direct + "/", Key: key})

	target, err := url.Parse(direct)
	must.Succeed(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	plain := httptest.NewServer(http.StripPrefix("/runtime", proxy))
	defer plain.Close()
	talk(t, tunnel.Dialer{URL: plain.URL + "/runtime", Key: key})
	secure := httptest.NewTLSServer(proxy)
	defer secure.Close()
	defer secure.Client().CloseIdleConnections()
	talk(t, tunnel.Dialer{URL: secure.URL, Key: key, Transport: secure.Client().Transport})
	if _, err := (tunnel.Dialer{URL: secure.URL, Key: key}).Dial(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a certificate of nobody: %v", err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	_, address := echo(t)
	elsewhere := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere <- r.URL.Path }))
	defer other.Close()
	redirect := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer redirect.Close()
	starting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer starting.Close()
	for name, c := range map[string]struct {
		d    tunnel.Dialer
		kind fault.Kind
	}{
		"wrong key":    {tunnel.Dialer{URL: "http://" + address, Key: "another"}, fault.Denied},
		"no key":       {tunnel.Dialer{URL: "http://" + address}, fault.Denied},
		"other path":   {tunnel.Dialer{URL: "http://" + address + "/x", Key: key}, fault.NotFound},
		"bad address":  {tunnel.Dialer{URL: "http://a b", Key: key}, fault.Invalid},
		"nobody there": {tunnel.Dialer{URL: "http://127.0.0.1:1", Key: key}, fault.Unavailable},
		"redirect":     {tunnel.Dialer{URL: redirect.URL, Key: key}, fault.Unavailable},
		"bad gateway":  {tunnel.Dialer{URL: starting.URL, Key: key}, fault.Unavailable},
	} {
		if conn, err := c.d.Dial(t.Context()); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v, %v", name, conn, err)
		}
	}
	select {
	case path := <-elsewhere:
		t.Errorf("the redirect was followed: %s", path)
	default:
	}
	// Without the upgrade, the key alone gets nothing.
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+"/v1/link", nil)
	must.Succeed(t, err)
	r.Header.Set("X-Session-API-Key", key)
	resp, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired {
		t.Error(resp.Status)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (tunnel.Dialer{URL: "http://" + address, Key: key}).Dial(canceled); !fault.Is(err, fault.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestWatch: the connection ends with the server.
func TestWatch(t *testing.T) {
	t.Parallel()
	l, address := echo(t)
	c, err := (tunnel.Dialer{URL: "http://" + address, Key: key}).Watch(t.Context())
	must.Succeed(t, err)
	defer c.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(c)
		ended <- err
	}()
	talk(t, tunnel.Dialer{URL: "http://" + address, Key: key})
	select {
	case err := <-ended:
		t.Fatal("it ended before the server: ", err)
	default:
	}
	must.Succeed(t, l.Close())
	<-ended
}
