package bootstrap_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/bootstrap"
)

// ran is how a program has ended.
type ran struct {
	code int
	err  error
	out  string
}

// run assigns a program, and runs it.
func run(ctx context.Context, t *testing.T, s socket, l net.Listener, a bootstrap.Assignment) (<-chan ran, error) {
	t.Helper()
	ended := make(chan ran, 1)
	var running sync.WaitGroup
	running.Go(func() {
		got, err := bootstrap.Wait(l)
		if err != nil {
			ended <- ran{err: err}
			return
		}
		var out bytes.Buffer
		code, err := got.Run(ctx, bootstrap.Program{Stdout: &out})
		ended <- ran{code, err, out.String()}
	})
	t.Cleanup(running.Wait)
	_, err := bootstrap.Assign(t.Context(), s, a)
	return ended, err
}

func TestProgramEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		code int
	}{{"echo said", 0}, {"echo said; exit 7", 7}, {"echo said; kill -9 $$", 137}} {
		s, l := listen(t)
		ended, err := run(t.Context(), t, s, l, bootstrap.Assignment{Args: []string{"sh", "-c", c.line}, Port: 1})
		must.Succeed(t, err)
		if got := <-ended; got.code != c.code || got.err != nil || got.out != "said\n" {
			t.Errorf("%s: %+v", c.line, got)
		}
		if err := bootstrap.Ping(t.Context(), s); !fault.Is(err, fault.Unavailable) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestNoProgram: the client is told of one that is not there, and it is no success.
func TestNoProgram(t *testing.T) {
	t.Parallel()
	s, l := listen(t)
	ended, err := run(t.Context(), t, s, l, bootstrap.Assignment{Args: []string{"/no/such/program"}, Port: 1})
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
	if got := <-ended; !fault.Is(got.err, fault.Invalid) {
		t.Errorf("%+v", got)
	}
}

// TestProgramPort: connections are passed on to the port, both ways and with their ends, and
// closed where nothing listens. Connections under way end with the program, and the program
// with ctx.
func TestProgramPort(t *testing.T) {
	t.Parallel()
	target, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	port := target.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
	ctx, cancel := context.WithCancel(t.Context())
	s, l := listen(t)
	ended, err := run(ctx, t, s, l, bootstrap.Assignment{Args: []string{"sleep", "1000"}, Port: port})
	must.Succeed(t, err)
	dial := func() *net.UnixConn {
		conn, err := s.Dial(t.Context())
		must.Succeed(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn.(*net.UnixConn) //nolint:forcetypeassert // of a Unix socket
	}
	accept := func() *net.TCPConn {
		conn, err := target.Accept()
		must.Succeed(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn.(*net.TCPConn) //nolint:forcetypeassert // of a TCP listener
	}
	client := dial()
	if _, err := io.WriteString(client, "asked"); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, client.CloseWrite())
	program := accept()
	if got, err := io.ReadAll(program); string(got) != "asked" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := io.WriteString(program, "answered"); err != nil {
		t.Fatal(err)
	}
	program.Close()
	if got, err := io.ReadAll(client); string(got) != "answered" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	open := dial()
	accept()
	target.Close()
	if got, err := io.ReadAll(dial()); len(got) > 0 || err != nil {
		t.Errorf("nothing listens: %q, %v", got, err)
	}
	cancel()
	if got := <-ended; got.code != 128+15 || got.err != nil {
		t.Errorf("%+v", got)
	}
	if got, err := io.ReadAll(open); len(got) > 0 || err != nil {
		t.Errorf("after the end: %q, %v", got, err)
	}
}
