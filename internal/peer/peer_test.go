package peer

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestOwner: the kernel says whose a connection is, in both ways of asking it. It runs alone: a
// program that another test starts holds a closed connection until its exec.
func TestOwner(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err) // a machine without IPv6
			continue
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		host := "127.0.0.1"
		if address == "[::1]:0" {
			host = "::1"
		}
		c, err := net.Dial("tcp", net.JoinHostPort(host, port))
		must.Succeed(t, err)
		defer c.Close()
		in, err := l.Accept()
		must.Succeed(t, err)
		defer in.Close()
		from, to := plain(t, in.RemoteAddr()), plain(t, in.LocalAddr())
		if uid, err := ask(from, to); uid != os.Geteuid() || err != nil {
			t.Errorf("%s: %d, %v", address, uid, err)
		}
		table := "/proc/net/tcp"
		if from.Addr().Is6() {
			table = "/proc/net/tcp6"
		}
		if uid, err := lookUp(table, from, to); uid != os.Geteuid() || err != nil {
			t.Errorf("%s in %s: %d, %v", address, table, uid, err)
		}
		// A connection that its program has closed is not root's.
		c.Close()
		if uid, err := owner(from, to); err == nil {
			t.Errorf("%s, closed: %d", address, uid)
		}
	}
	if uid, err := owner(netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")); err == nil {
		t.Errorf("no connection: %d", uid)
	}
}

func plain(t *testing.T, a net.Addr) netip.AddrPort {
	t.Helper()
	p, err := netip.ParseAddrPort(a.String())
	must.Succeed(t, err)
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

func TestAllow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uid, own int
		ok       bool
	}{{0, 0, true}, {1000, 1000, true}, {0, 1000, true}, {1000, 0, false}, {1001, 1000, false}, {65534, 0, false}} {
		if err := allow(c.uid, c.own); (err == nil) != c.ok || err != nil && !fault.Is(err, fault.Denied) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestCheck: requests of this user pass, those of another one do not, whether the server
// keeps the answer for a connection or not.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, context := range []bool{true, false} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := Check(r); err != nil {
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		if context {
			s.Config.ConnContext = Context
		}
		s.Start()
		t.Cleanup(s.Close)
		resp, err := http.Get(s.URL)
		must.Succeed(t, err)
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("the same user: %s", resp.Status)
		}
		if os.Getuid() != 0 {
			continue
		}
		host, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		cmd := exec.CommandContext(t.Context(), "bash", "-c", `exec 3<>/dev/tcp/$0/$1; printf 'GET / HTTP/1.0\r\n\r\n' >&3; head -n 1 <&3`, host, port)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Stderr = io.Discard
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), " 403 ") {
			t.Errorf("another user: %s, %v", out, err)
		}
	}
	if err := Check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)); !fault.Is(err, fault.Denied) {
		t.Errorf("a request without a connection: %v", err)
	}
}
