package sandboxtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

// reachArg makes the test binary a command that connects to the addresses that follow, as
// NETWORK=ADDRESS, and sends them a line each. It prints the addresses that answer.
const reachArg = "sandboxtest-reach"

func reach(addresses []string) {
	for _, a := range addresses {
		network, address, _ := strings.Cut(a, "=")
		conn, err := net.DialTimeout(network, address, 2*time.Second) //nolint:noctx // it has a timeout
		if err != nil {
			continue
		}
		_, err = fmt.Fprintln(conn, a)
		if err == nil && conn.SetReadDeadline(time.Now().Add(200*time.Millisecond)) == nil {
			if n, err := conn.Read(make([]byte, 100)); n > 0 || err == nil {
				fmt.Println(a)
			}
		}
		_ = conn.Close() // every attempt was made
	}
	os.Exit(0)
}

// noNetwork: a sandbox without a network reaches nothing of this machine, at none of its
// addresses, over TCP, UDP (as for DNS) and abstract sockets; nor does one with a network,
// which is its proxy, past that.
func noNetwork(t *testing.T, f *fixture) {
	networks := []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkOpen}
	if f.workspaceOf != nil {
		networks = networks[:1] // the Runtime API decides on others
	}
	for _, network := range networks {
		f.spec.Network = network
		s := f.start(t)
		if s.Report().Level == "none" {
			t.Skip("the provider does not isolate")
		}
		reachesNothing(t, s, network)
		must.Succeed(t, f.Remove(t.Context(), f.spec.ID))
	}
}

func reachesNothing(t *testing.T, s sandbox.Sandbox, network sandbox.Network) {
	t.Helper()
	var heard atomic.Int32
	tcp, err := net.Listen("tcp", ":0") //nolint:noctx // ends with the test
	must.Succeed(t, err)
	t.Cleanup(func() { tcp.Close() })
	_, port, err := net.SplitHostPort(tcp.Addr().String())
	must.Succeed(t, err)
	unix, err := net.Listen("unix", "@deft-test-"+rand.Text()) //nolint:noctx // ends with the test
	must.Succeed(t, err)
	t.Cleanup(func() { unix.Close() })
	udp, err := net.ListenPacket("udp", ":"+port) //nolint:noctx // ends with the test
	must.Succeed(t, err)
	t.Cleanup(func() { udp.Close() })
	for _, l := range []net.Listener{tcp, unix} {
		go func() {
			for {
				conn, err := l.Accept()
				if errors.Is(err, net.ErrClosed) {
					return
				}
				if err == nil {
					heard.Add(1)
					_, _ = conn.Write([]byte("SECRET\n")) // to a client that may have gone
					_ = conn.Close()
				}
			}
		}()
	}
	go func() {
		for {
			_, from, err := udp.ReadFrom(make([]byte, 100))
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				heard.Add(1)
				_, _ = udp.WriteTo([]byte("SECRET\n"), from)
			}
		}
	}()
	targets := []string{reachArg, "unix=" + unix.Addr().String()}
	add := func(host string) {
		for _, network := range []string{"tcp", "udp"} {
			targets = append(targets, network+"="+net.JoinHostPort(host, port))
		}
	}
	add("localhost")
	interfaces, err := net.Interfaces()
	must.Succeed(t, err)
	for _, i := range interfaces {
		all, err := i.Addrs()
		must.Succeed(t, err)
		for _, a := range all {
			n, ok := a.(*net.IPNet)
			switch {
			case !ok:
			case n.IP.IsLinkLocalUnicast() && n.IP.To4() == nil:
				add(n.IP.String() + "%" + i.Name)
			default:
				add(n.IP.String())
				if n.IP.To4() != nil {
					add("::ffff:" + n.IP.String())
				}
			}
		}
	}
	// The same from outside is answered: the attempts are sound.
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port)) //nolint:noctx // this machine's own
	must.Succeed(t, err)
	if n, err := conn.Read(make([]byte, 100)); n == 0 {
		t.Fatalf("the listener does not answer: %v", err)
	}
	_ = conn.Close()
	before := heard.Load()
	if got := ask(t, s, request{Self: targets}); got.Out != "" || got.Code != 0 {
		t.Errorf("network %s: reached %+v", network, got)
	}
	if n := heard.Load() - before; n > 0 {
		t.Errorf("network %s: %d of %d attempts were heard", network, n, len(targets)-1)
	}
}
