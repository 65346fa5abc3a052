package bootstrap_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/bootstrap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type socket string

func (s socket) Dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", string(s))
}

func listen(t *testing.T) (socket, net.Listener) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	must.Succeed(t, err)
	t.Cleanup(func() { l.Close() })
	return socket(path), l
}

// TestOneAssignment: of many clients one assigns, all others are told, and the
// program serves as soon as the first has its answer.
func TestOneAssignment(t *testing.T) {
	t.Parallel()
	s, l := listen(t)
	var got *bootstrap.Assigned
	var served sync.WaitGroup
	web := &http.Server{Handler: http.NotFoundHandler()}
	served.Go(func() {
		a, err := bootstrap.Wait(l)
		if err != nil {
			t.Error(err)
			return
		}
		got = a
		a.Dir = "/there"
		_ = web.Serve(a.Listener)
	})
	must.Succeed(t, bootstrap.Ping(t.Context(), s))
	var won, lost atomic.Int64
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			ready, err := bootstrap.Assign(t.Context(), s, bootstrap.Assignment{Args: []string{"x"}, Env: []string{"K=v"}})
			switch {
			case err == nil && ready.Dir == "/there":
				won.Add(1)
			case fault.Is(err, fault.Conflict):
				lost.Add(1)
			default:
				t.Errorf("%+v, %v", ready, err)
			}
		})
	}
	clients.Wait()
	if won.Load() != 1 || lost.Load() != 19 {
		t.Errorf("%d assignments were taken, %d refused", won.Load(), lost.Load())
	}
	if err := bootstrap.Ping(t.Context(), s); !fault.Is(err, fault.Conflict) {
		t.Errorf("a program that serves: %v", err)
	}
	web.Close()
	served.Wait()
	if got == nil || got.Args[0] != "x" || got.Env[0] != "K=v" {
		t.Errorf("%+v", got)
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	s, l := listen(t)
	var served sync.WaitGroup
	served.Go(func() {
		a, err := bootstrap.Wait(l)
		if err != nil {
			t.Error(err)
			return
		}
		a.Fail(fault.New(fault.Invalid, "no such flag"))
		a.Fail(errors.New("again"))
	})
	if _, err := bootstrap.Assign(t.Context(), s, bootstrap.Assignment{}); !fault.Is(err, fault.Invalid) || err.Error() != "no such flag" {
		t.Errorf("%v", err)
	}
	served.Wait()
	l.Close()
	if err := bootstrap.Ping(t.Context(), s); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a program that has ended: %v", err)
	}
}

// TestSilence: a program that does not answer keeps a client no longer than its context.
func TestSilence(t *testing.T) {
	t.Parallel()
	s, _ := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	context.AfterFunc(ctx, func() {})
	done := make(chan error, 1)
	go func() { _, err := bootstrap.Assign(ctx, s, bootstrap.Assignment{}); done <- err }()
	cancel()
	if err := <-done; err == nil {
		t.Error("it was assigned to nobody")
	}
}
