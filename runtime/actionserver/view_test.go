package actionserver_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/tool"
)

// mirror is an executor whose live view repeats lines, until it is closed.
type mirror struct{ closed chan struct{} }

func (m mirror) Execute(context.Context, tool.Call) (event.Observation, error) {
	return nil, fault.New(fault.Unsupported, "no action")
}

func (m mirror) Close() error { return nil }

// View implements [tool.Viewer].
func (m mirror) View(context.Context) (io.ReadWriteCloser, error) {
	inside, outside := net.Pipe()
	go func() {
		_, _ = io.Copy(inside, inside) // ends with the other end
		inside.Close()
		close(m.closed)
	}()
	return outside, nil
}

// wrapper hides the view of an executor, as explained errors do.
type wrapper struct{ tool.Executor }

func (w wrapper) Unwrap() tool.Executor { return w.Executor }

// TestView connects to a live view, which ends with the client.
func TestView(t *testing.T) {
	t.Parallel()
	m := mirror{make(chan struct{})}
	rt := connect(t, serveWith(t, actionserver.Options{Tools: map[string]tool.Executor{"Look": wrapper{m}}}))
	conn, err := rt.View(t.Context())
	must.Succeed(t, err)
	lines := bufio.NewReader(conn)
	for _, want := range []string{"{\"n\":1}\n", "{\"n\":2}\n"} {
		_, err := io.WriteString(conn, want)
		must.Succeed(t, err)
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Fatalf("%q, %v", got, err)
		}
	}
	must.Succeed(t, conn.Close())
	<-m.closed
}

// TestViewEnds ends the view with the server.
func TestViewEnds(t *testing.T) {
	t.Parallel()
	m := mirror{make(chan struct{})}
	s := serveWith(t, actionserver.Options{Tools: map[string]tool.Executor{"Look": m}})
	conn, err := connect(t, s).View(t.Context())
	must.Succeed(t, err)
	defer conn.Close()
	s.stop()
	<-m.closed
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes of a server that has ended", n)
	}
}

// TestNoView asks a server without a tool that shows anything.
func TestNoView(t *testing.T) {
	t.Parallel()
	if _, err := connect(t, serveWith(t, actionserver.Options{})).View(t.Context()); !fault.Is(err, fault.Unsupported) {
		t.Errorf("error %v", err)
	}
}
