package actionserver_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/runtime/runtimetest"
	"github.com/deft-dev/deft/tool"
)

func TestMain(m *testing.M) {
	if os.Getenv(childRole) != "" {
		childMain()
		return
	}
	goleak.VerifyTestMain(m)
}

// served is a server that runs in this process.
type served struct {
	dial  func(context.Context) (net.Conn, error)
	stop  func()
	ended chan struct{} // closed when Serve has returned
	err   error         // then: its result
}

func serve(t testing.TB, tools map[string]tool.Executor, grace time.Duration) *served {
	t.Helper()
	return serveWith(t, actionserver.Options{Tools: tools, Grace: grace})
}

// serveWith starts a server with a socket and a journal of its own.
func serveWith(t testing.TB, o actionserver.Options) *served {
	t.Helper()
	dir := t.TempDir()
	journal, err := os.Create(filepath.Join(dir, "journal"))
	must.Succeed(t, err)
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	must.Succeed(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{dial: dialer(path), stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		o.Listener, o.Journal = l, journal
		s.err = actionserver.Serve(ctx, o)
	}()
	t.Cleanup(func() {
		cancel()
		if <-s.ended; s.err != nil {
			t.Errorf("serve: %v", s.err)
		}
	})
	return s
}

func dialer(path string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) }
}

func connect(t testing.TB, s *served) *remote.Runtime {
	t.Helper()
	rt, err := remote.New(remote.Options{Dial: s.dial})
	must.Succeed(t, err)
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return rt
}

func TestConformance(t *testing.T) {
	t.Parallel()
	runtimetest.Run(t, func(t *testing.T, tools map[string]tool.Executor) runtime.Runtime {
		return connect(t, serve(t, tools, 0))
	})
}
