package process_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

// curl is a shell function that prints the answer of an address, with the proxy's
// reason if it refuses.
const curl = `get() { curl -sS -k --max-time 10 -D "$PWD/head" "$@" 2>&1; grep -i '^HTTP/[0-9.]* [45]' "$PWD/head" 2>/dev/null; rm -f "$PWD/head"; }; `

// TestNetwork proves the reach of commands in each mode, at each level that has
// it.
func TestNetwork(t *testing.T) {
	t.Parallel()
	n := inNetwork(t)
	if n == nil {
		return
	}
	tool(t, "curl")
	const (
		granted, refused = "WORLD", "deft: "
		closed           = "\x00nothing"
	)
	for _, c := range []struct {
		network sandbox.Network
		url     string
		want    string
	}{
		{"none", "http://site.test/", closed},
		{"none", "http://" + world4 + "/", closed},
		{"none", "http://127.0.0.1:PORT/", closed},
		{"site.test,private.test,127.0.0.1,own.test,loop.test,metadata.test," + own4, "https://site.test/", granted},
		{"site.test", "http://site.test/", granted},
		{"site.test", "http://SITE.test./", granted},
		{"site.test", "https://other.test/", "other.test is not a host that this sandbox may reach"},
		{"site.test", "https://" + world4 + "/", "is not a host that this sandbox may reach"},
		{"six.test", "https://six.test/", granted},
		{"private.test", "https://private.test/", granted},
		{"private6.test", "http://private6.test/", granted},
		{"own.test", "http://own.test:PORT/", refused},
		{own4, "http://" + own4 + ":PORT/", refused},
		{"127.0.0.1", "http://127.0.0.1:PORT/", "own or bypassed"},
		{"loop.test", "http://loop.test:PORT/", refused},
		{"metadata.test", "http://metadata.test/latest/meta-data/", refused},
		{metadata, "http://" + metadata + "/latest/meta-data/", refused},
		{"site.test,loop.test", "http://site.test/to?url=http://loop.test:PORT/", refused},
		{"site.test," + own4, "https://site.test/to?url=http://" + own4 + ":PORT/", refused},
		{"site.test", "http://site.test/to?url=http://[::1]:PORT/", "own or bypassed"},
		{"open", "https://site.test/", granted},
		{"open", "https://six.test/", granted},
		{"open", "http://" + world4 + "/", granted},
		{"open", "http://[" + world6 + "]/", granted},
		{"open", "https://private.test/", "private.test is a private address (--net=open,private.test allows it)"},
		{"open", "http://" + private4 + "/", "is a private address"},
		{"open", "http://[" + private6 + "]/", "is a private address"},
		{"open,private.test", "https://private.test/", granted},
		{"open", "http://loop.test:PORT/", "loop.test is an address of this machine, which no sandbox may reach"},
		{"open", "http://own.test:PORT/", "own.test is an address of this machine, which no sandbox may reach"},
		{"open", "http://" + own4 + ":PORT/", refused},
		{"open", "http://[" + own6 + "]:PORT/", refused},
		{"open", "http://[::ffff:" + own4 + "]:PORT/", refused},
		{"open," + ownPrivate, "http://" + ownPrivate + ":PORT/", refused},
		{"open", "http://[::ffff:127.0.0.1]:PORT/", refused},
		{"open", "http://0.0.0.0:PORT/", refused},
		{"open", "http://127.0.0.2:PORT/", refused},
		{"open", "http://metadata.test/latest/meta-data/", "metadata service, which no sandbox may reach"},
		{"open", "http://" + metadata + "/latest/meta-data/", refused},
		{"open", "https://site.test/to?url=http://loop.test:PORT/", refused},
		{"open", "https://site.test/to?url=http://" + own4 + ":PORT/", refused},
		{"open", "https://nowhere.test/", "its name cannot be resolved"},
	} {
		for _, level := range levels {
			if level == process.LevelLandlock && c.network.Mode() == "list" {
				continue // refused, see below
			}
			t.Run(level+" "+string(c.network)+" "+c.url, func(t *testing.T) {
				b := setup(t, level)
				b.spec.Network = c.network
				s := b.start(t)
				url := strings.ReplaceAll(c.url, "PORT", n.port)
				got := sh(t, s, curl+`get -L "$1"`, url).Out
				switch c.want {
				case closed:
					if strings.Contains(got, "WORLD") || strings.Contains(got, "HOST") {
						t.Error(got)
					}
				case "own or bypassed": // curl does not use the proxy for its own loopback
					if strings.Contains(got, "SERVICE") {
						t.Error(got)
					}
					got = sh(t, s, curl+`get -L --noproxy "" "$1"`, url).Out
					if !strings.Contains(got, "deft: ") {
						t.Error(got)
					}
				default:
					if !strings.Contains(got, c.want) {
						t.Errorf("%s\nwant %s", got, c.want)
					}
				}
				// Without the proxy there is nothing.
				before := n.world.Load()
				direct := sh(t, s, curl+`get -L --noproxy "*" "$1"; get -L --noproxy "*" --resolve "*:80:$2" "$1"`, url, world4).Out
				if n.world.Load() != before || strings.Contains(direct, "WORLD") {
					t.Errorf("reached without the proxy: %s", direct)
				}
			})
		}
	}
	if hits := n.hits.Load(); hits != 0 {
		t.Errorf("services of this machine were reached %d times", hits)
	}
}

// TestNetworkListNeedsNamespaces proves that a mode that cannot be enforced is
// refused, and why.
func TestNetworkListNeedsNamespaces(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelLandlock)
	b.spec.Network = "site.test"
	_, err := b.Start(t.Context(), b.spec)
	if !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "commands cannot be limited to a list of hosts") ||
		!strings.Contains(fault.HintOf(err), "--net for every public host") {
		t.Errorf("%v (%s)", err, fault.HintOf(err))
	}
	b.spec.Network = "sit/e"
	if _, err := b.Start(t.Context(), b.spec); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}

// TestNoNetwork proves that programs have their own loopback, and only that.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	python := tool(t, "python3")
	const own = `import socket
l=socket.socket(); l.bind(("127.0.0.1",0)); l.listen()
socket.create_connection(l.getsockname(),5); print("connected")`
	for level, want := range map[string]bool{process.LevelNamespaces: true, process.LevelLandlock: false} {
		for _, network := range []sandbox.Network{"none", "open"} {
			b := setup(t, level)
			b.spec.Network = network
			s := b.start(t)
			if a := ask(t, s, request{Argv: []string{python, "-c", own}}); (a.Out == "connected\n") != want {
				t.Errorf("%s, %s: own loopback: %s", level, network, a.Out)
			}
		}
	}
}

// TestWaysPastTheProxy tries, with an open network, everything but HTTP through
// the proxy.
func TestWaysPastTheProxy(t *testing.T) {
	t.Parallel()
	n := inNetwork(t)
	if n == nil {
		return
	}
	python := tool(t, "python3")
	const attempts = `
import socket, sys, os
world, own, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
def attempt(name, f):
    try: print(name, "worked", f())
    except OSError as e: print(name, "refused:", e)
def tcp(family, addr, kind=socket.SOCK_STREAM, proto=0):
    s = socket.socket(family, kind, proto); s.settimeout(3); s.connect(addr); return s.getpeername()
def fastopen(addr):
    s = socket.socket(); s.settimeout(3); s.sendto(b"GET / HTTP/1.0\r\n\r\n", 0x20000000, addr); return s.recv(99)
def listening():
    s = socket.socket(); s.listen(); raise OSError("on loopback only") if sys.argv[4] == "namespaces" else None
def udp(family, addr):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b"query", addr); return s.recv(99)
attempt("tcp", lambda: tcp(socket.AF_INET, (world, 80)))
attempt("tcp-own", lambda: tcp(socket.AF_INET, (own, port)))
attempt("tcp6", lambda: tcp(socket.AF_INET6, (sys.argv[5], 80)))
attempt("mapped", lambda: tcp(socket.AF_INET6, ("::ffff:" + own, port)))
attempt("mptcp", lambda: tcp(socket.AF_INET, (world, 80), proto=262))
attempt("sctp", lambda: tcp(socket.AF_INET, (world, 80), proto=132))
attempt("smc", lambda: tcp(socket.AF_INET, (world, 80), proto=256))
attempt("raw", lambda: tcp(socket.AF_INET, (world, 80), socket.SOCK_RAW, 6))
attempt("fastopen", lambda: fastopen((world, 80)))
attempt("fastopen-own", lambda: fastopen((own, port)))
attempt("listen", listening)
attempt("udp", lambda: udp(socket.AF_INET, (world, 53)))
attempt("udp-own", lambda: udp(socket.AF_INET, (own, 53)))
attempt("udp6", lambda: udp(socket.AF_INET6, (sys.argv[5], 53)))
attempt("resolve", lambda: socket.getaddrinfo("nowhere.test", 80))
`
	for _, level := range levels {
		b := setup(t, level)
		b.spec.Network = "open"
		s := b.start(t)
		a := ask(t, s, request{Argv: []string{python, "-c", attempts, world4, own4, n.port, level, world6}})
		if strings.Contains(a.Out, "worked") || strings.Count(a.Out, "refused: ") != 15 {
			t.Errorf("%s: %s", level, a.Out)
		}
	}
	if n.hits.Load()+n.world.Load() != 0 {
		t.Errorf("%d and %d connections got through", n.hits.Load(), n.world.Load())
	}
}

// TestProxyIsForItsSandbox proves that at the landlock level, where the proxy
// listens on the machine's loopback, it serves nobody without the sandbox's token;
// and that the proxy has few rights and ends with its sandbox, not before.
func TestProxyIsForItsSandbox(t *testing.T) {
	t.Parallel()
	n := inNetwork(t)
	if n == nil {
		return
	}
	tool(t, "curl")
	for _, level := range levels {
		b := setup(t, level)
		b.spec.Network = "open"
		s := b.start(t)
		proxy := strings.TrimSpace(sh(t, s, `echo $HTTPS_PROXY`).Out)
		if sh(t, s, `for v in $HTTP_PROXY $http_proxy $https_proxy $ALL_PROXY $all_proxy; do test $v = $HTTPS_PROXY || echo $v; done`).Out != "" {
			t.Error("the variables name several proxies")
		}
		if level == process.LevelLandlock {
			_, address, secured := strings.Cut(proxy, "@")
			if !secured {
				t.Fatalf("the proxy is %s", proxy)
			}
			out, _ := commandOutput("curl", "-sS", "--noproxy", "", "-x", "http://"+address, "http://site.test/")
			if !strings.Contains(out, "for its commands only") {
				t.Error(out)
			}
		}
		pid := proxyOf(t)
		status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
		must.Succeed(t, err)
		for _, want := range []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("%s: the proxy's status lacks %s:\n%s", level, want, status)
			}
		}
		// Another provider finds the sandbox, whose proxy works on.
		other, err := process.New(process.Options{Dir: b.dir, Level: level, Home: b.home})
		must.Succeed(t, err)
		must.Succeed(t, b.Close())
		s, err = other.Start(t.Context(), b.spec)
		if err != nil || !s.Reused() {
			t.Fatal(s, err)
		}
		if got := sh(t, s, curl+`get https://site.test/`).Out; !strings.Contains(got, "WORLD") {
			t.Error(got)
		}
		must.Succeed(t, s.Stop(t.Context()))
		must.Succeed(t, other.Close())
		if err := awaitExit(pid); err != nil {
			t.Errorf("%s: %v", level, err)
		}
	}
	if n.hits.Load() != 0 {
		t.Error("services of this machine were reached")
	}
}

// TestHostProxy proves that the sandbox's proxy uses the proxy of the host's
// variables, which may be on loopback, and that commands cannot use it themselves.
func TestHostProxy(t *testing.T) {
	t.Parallel()
	n := inNetwork(t)
	if n == nil {
		return
	}
	tool(t, "curl")
	var asked atomic.Int32
	corporate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodConnect || r.Host != "outer.test:443" || r.Header.Get("Proxy-Authorization") != "Basic dTpw" {
			http.Error(w, r.Method+" "+r.Host, http.StatusForbidden)
			return
		}
		to, err := net.Dial("tcp", world4+":443")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer to.Close()
		w.WriteHeader(http.StatusOK)
		from, read, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		go func() { _, _ = io.Copy(to, read) }() // the server may have read the first bytes
		_, _ = io.Copy(from, to)
	}))
	defer corporate.Close()
	address := corporate.Listener.Addr().String()
	for name, value := range map[string]string{"HTTPS_PROXY": "http://u:p@" + address, "HTTP_PROXY": "http://u:p@" + address, "NO_PROXY": "site.test"} {
		if err := os.Setenv(name, value); err != nil { //nolint:usetesting // the test is parallel, and this process has no other
			t.Fatal(err)
		}
	}
	for _, level := range levels {
		b := setup(t, level)
		b.spec.Network = "open,127.0.0.1"
		s := b.start(t)
		for url, want := range map[string]string{
			"https://outer.test/": "WORLD", // known to that proxy only
			"https://site.test/":  "WORLD", // without it
			"https://own.test/":   "no sandbox may reach", "https://10.255.255.254/": "is a private address",
			"http://" + address + "/": "no sandbox may reach",
		} {
			before := asked.Load()
			got := sh(t, s, curl+`get --noproxy "" "$1"`, url).Out
			if !strings.Contains(got, want) {
				t.Errorf("%s %s: %s", level, url, got)
			}
			if used := asked.Load() != before; used != strings.Contains(url, "outer") {
				t.Errorf("%s %s: the host's proxy was used: %v", level, url, used)
			}
		}
		if got := sh(t, s, `env; curl -sS -m 5 -k -x "http://$1:$2@$3" https://outer.test/ 2>&1`, "u", "p", address).Out; strings.Contains(got, "WORLD") || strings.Contains(got, "u:p") {
			t.Errorf("%s: a command used the host's proxy: %s", level, got)
		}
	}
}
