package actionserver_test

import (
	"bytes"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/protocol"
)

// listenOn calls serve for each connection to a port, which it returns.
func listenOn(t *testing.T, serve func(*net.TCPConn)) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn.(*net.TCPConn))
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().(*net.TCPAddr).Port
}

// TestPort sends much in both directions, each of which ends by itself.
func TestPort(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	port := listenOn(t, func(conn *net.TCPConn) {
		defer conn.Close()
		all, err := io.ReadAll(conn) // until the client has ended its side
		if err == nil {
			slices.Reverse(all)
			_, err = conn.Write(all)
		}
		must.Report(t, err)
	})
	rt := connect(t, serveWith(t, actionserver.Options{Ports: &actionserver.Ports{}}))
	c, err := rt.DialPort(t.Context(), port)
	must.Succeed(t, err)
	defer c.Close()
	if _, err := c.Write(text); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, c.CloseWrite())
	got, err := io.ReadAll(c)
	slices.Reverse(got)
	if err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestPortGivenUp: a program sees that its client is gone, and a client that the
// sandbox ends.
func TestPortGivenUp(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 2)
	port := listenOn(t, func(conn *net.TCPConn) {
		defer conn.Close()
		_, err := io.Copy(io.Discard, conn)
		ended <- err
	})
	s := serveWith(t, actionserver.Options{Ports: &actionserver.Ports{}})
	rt := connect(t, s)
	c, err := rt.DialPort(t.Context(), port)
	must.Succeed(t, err)
	c.Close()
	<-ended
	if c, err = rt.DialPort(t.Context(), port); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if _, err := io.ReadAll(c); err == nil {
		t.Error("the end of the sandbox looks like that of the program")
	}
	<-ended
}

func TestPortErrors(t *testing.T) {
	t.Parallel()
	rt := connect(t, serveWith(t, actionserver.Options{Ports: &actionserver.Ports{}}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	free := l.Addr().(*net.TCPAddr).Port
	l.Close()
	for port, want := range map[int]fault.Kind{free: fault.Unavailable, 0: fault.Invalid, 65536: fault.Invalid, -1: fault.Invalid} {
		if _, err := rt.DialPort(t.Context(), port); !fault.Is(err, want) {
			t.Errorf("%d: %v", port, err)
		}
	}
	none := connect(t, serveWith(t, actionserver.Options{}))
	if _, err := none.DialPort(t.Context(), 80); !fault.Is(err, fault.Unsupported) {
		t.Error(err)
	}
	if _, err := none.Ports(t.Context()); !fault.Is(err, fault.Unsupported) {
		t.Error(err)
	}
}

func TestListPorts(t *testing.T) {
	t.Parallel()
	shown, hidden := listenOn(t, func(*net.TCPConn) {}), listenOn(t, func(*net.TCPConn) {})
	rt := connect(t, serveWith(t, actionserver.Options{Ports: &actionserver.Ports{Hidden: []int{hidden}}}))
	list, err := rt.Ports(t.Context())
	must.Succeed(t, err)
	if !slices.Contains(list, protocol.Port{Port: shown, Address: "127.0.0.1"}) {
		t.Errorf("%d is not in %v", shown, list)
	}
	if slices.ContainsFunc(list, func(p protocol.Port) bool { return p.Port == hidden }) {
		t.Errorf("%d is in %v", hidden, list)
	}
	if !slices.IsSortedFunc(list, func(a, b protocol.Port) int { return a.Port - b.Port }) {
		t.Error(list)
	}
}
