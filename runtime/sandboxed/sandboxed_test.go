package sandboxed_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is a sandbox.Provider whose starts are scripted.
type provider struct {
	start    func(ctx context.Context, n int) error // n counts from 1
	pauseErr error                                  // of pauses
	ended    sandbox.Reason                         // why sandboxes have ended, if they have
	done     chan struct{}                          // closed when they end, of those that have not

	mu     sync.Mutex
	starts int
	stops  int
	pauses int
}

func (p *provider) Start(ctx context.Context, _ sandbox.Spec) (sandbox.Sandbox, error) {
	p.mu.Lock()
	p.starts++
	n := p.starts
	p.mu.Unlock()
	if p.start != nil {
		if err := p.start(ctx, n); err != nil {
			return nil, err
		}
	}
	return &fakeSandbox{provider: p, n: n}, nil
}

func (p *provider) Get(context.Context, string) (sandbox.Sandbox, error) {
	return nil, errors.ErrUnsupported
}
func (p *provider) List(context.Context) ([]sandbox.Status, error) {
	return nil, errors.ErrUnsupported
}

func (p *provider) Remove(context.Context, string) error { return errors.ErrUnsupported }

func (p *provider) counts() (starts, stops int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts, p.stops
}

// fakeSandbox counts its stops and pauses. It has ended for the provider's reason, if
// that has one; its other methods are not called.
type fakeSandbox struct {
	sandbox.Sandbox
	provider *provider
	n        int
}

func (s *fakeSandbox) Done() <-chan struct{} {
	if s.provider.ended == (sandbox.Reason{}) {
		return s.provider.done
	}
	done := make(chan struct{})
	close(done)
	return done
}

func (s *fakeSandbox) Status(context.Context) (sandbox.Status, error) {
	return sandbox.Status{State: sandbox.Ended, Reason: s.provider.ended}, nil
}

func (s *fakeSandbox) Pause(context.Context) error {
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	s.provider.pauses++
	return s.provider.pauseErr
}

func (s *fakeSandbox) Stop(context.Context) error {
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	s.provider.stops++
	return nil
}

// server is a runtime.Runtime whose answers are scripted.
type server struct {
	n       int // of its sandbox
	execute func(ctx context.Context, n int, r tool.Request) error

	mu       sync.Mutex
	requests []tool.Request
	acked    []event.ID
	closed   int

	interrupted []event.ID
}

func (s *server) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	if s.execute != nil {
		if err := s.execute(ctx, s.n, r); err != nil {
			return nil, err
		}
	}
	return &event.ThinkObservation{}, nil
}

func (s *server) Prepare(ctx context.Context) error {
	if s.execute == nil {
		return nil
	}
	return s.execute(ctx, s.n, tool.Request{})
}

func (s *server) Interrupt(_ context.Context, id event.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupted = append(s.interrupted, id)
	return nil
}

func (s *server) Ack(ids ...event.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked = append(s.acked, ids...)
}

func (s *server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

// fixture is a Runtime with its fakes.
type fixture struct {
	*sandboxed.Runtime
	prov *provider

	mu      sync.Mutex
	servers []*server
}

func (b *fixture) server(n int) *server {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.servers[n-1]
}

type (
	startFunc   = func(ctx context.Context, n int) error
	executeFunc = func(ctx context.Context, n int, r tool.Request) error
)

func setup(t *testing.T, start startFunc, execute executeFunc) *fixture {
	t.Helper()
	b := &fixture{prov: &provider{start: start}}
	b.Runtime = sandboxed.Start(t.Context(), sandboxed.Options{
		Provider: b.prov,
		Connect: func(sb sandbox.Sandbox) (runtime.Runtime, error) {
			s := &server{n: sb.(*fakeSandbox).n, execute: execute}
			b.mu.Lock()
			b.servers = append(b.servers, s)
			b.mu.Unlock()
			return s, nil
		},
	})
	t.Cleanup(func() {
		must.Report(t, b.Close())
		for _, s := range b.servers {
			if s.closed != 1 {
				t.Errorf("the runtime of sandbox %d was closed %d times, want once", s.n, s.closed)
			}
		}
	})
	return b
}

var gone = fault.New(fault.Unavailable, "the server is gone")

// dies fails every request to the first server.
func dies(err error) executeFunc {
	return func(_ context.Context, n int, _ tool.Request) error {
		if n == 1 {
			return err
		}
		return nil
	}
}

func TestStartsInTheBackground(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	b := setup(t, func(context.Context, int) error { <-open; return nil }, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Execute(ctx, tool.Request{Call: tool.Call{ID: "a"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	b.Ack("a") // must not wait either
	close(open)
	if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); err != nil {
		t.Error(err)
	}
	b.Ack("a")
	if got := b.server(1).acked; len(got) != 1 || got[0] != "a" {
		t.Errorf("acknowledged %v, want a", got)
	}
}

func TestDeadServerIsReplacedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		again bool
	}{
		"perhaps sent": {gone, true},
		"not sent":     {errors.Join(gone, runtime.ErrNotSent), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, dies(c.err))
			if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); err != nil {
				t.Fatal(err)
			}
			if starts, _ := b.prov.counts(); starts != 2 {
				t.Errorf("%d starts, want 2", starts)
			}
			if got := b.server(2).requests; len(got) != 1 || got[0].Again != c.again {
				t.Errorf("the second server was asked %+v, want once with Again %v", got, c.again)
			}
		})
	}
}

func TestServersThatKeepDyingAreAnError(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(context.Context, int, tool.Request) error { return gone })
	if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
	if starts, _ := b.prov.counts(); starts != 5 {
		t.Errorf("%d starts, want 5", starts)
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start   startFunc
		execute executeFunc
		want    error
		starts  int
	}{
		"ready":          {nil, nil, nil, 1},
		"server is gone": {nil, dies(gone), nil, 2},
		"no sandbox":     {func(context.Context, int) error { return gone }, nil, gone, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.start, c.execute)
			if err := b.Prepare(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if starts, _ := b.prov.counts(); starts != c.starts {
				t.Errorf("%d starts, want %d", starts, c.starts)
			}
		})
	}
}

func TestInterruptReachesTheLatestServer(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, dies(gone))
	if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); err != nil {
		t.Fatal(err)
	}
	must.Report(t, b.Interrupt(t.Context(), "a"))
	if got := b.server(1).interrupted; len(got) != 0 {
		t.Errorf("the first server was interrupted: %v", got)
	}
	if got := b.server(2).interrupted; len(got) != 1 || got[0] != "a" {
		t.Errorf("the second server was interrupted: %v, want a", got)
	}
}

func TestOtherErrorsAreTheActionsOwn(t *testing.T) {
	t.Parallel()
	broken := fault.New(fault.Internal, "the tool broke")
	b := setup(t, nil, dies(broken))
	if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if starts, _ := b.prov.counts(); starts != 1 {
		t.Errorf("%d starts, want 1", starts)
	}
}

func TestManyActionsShareOneRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := make(chan struct{})
		b := setup(t, nil, func(_ context.Context, n int, _ tool.Request) error {
			if n > 1 {
				return nil
			}
			<-dead
			return gone
		})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID()}}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all of them run on the first server
		close(dead)
		wg.Wait()
		if starts, _ := b.prov.counts(); starts != 2 {
			t.Errorf("%d starts, want 2", starts)
		}
		if got := len(b.server(2).requests); got != 20 {
			t.Errorf("the second server was asked %d times, want 20", got)
		}
	})
}

func TestFailedStart(t *testing.T) {
	t.Parallel()
	cause := fault.New(fault.Unsupported, "no namespaces here").Hint("use --sandbox none")
	b := setup(t, func(_ context.Context, n int) error {
		if n <= 2 {
			return cause
		}
		return nil
	}, nil)
	_, err := b.Ready(t.Context())
	if fault.KindOf(err) != fault.Unsupported {
		t.Errorf("Ready: kind %s, want the provider's own", fault.KindOf(err))
	}
	_, err = b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}})
	if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, cause) {
		t.Errorf("Execute: %v of kind %s, want the cause as unavailable", err, fault.KindOf(err))
	}
	if !strings.Contains(err.Error(), "no namespaces here") || fault.HintOf(err) != "use --sandbox none" {
		t.Errorf("Execute: %q with hint %q has lost the cause or its hint", err, fault.HintOf(err))
	}
	if err := b.Interrupt(t.Context(), "a"); err != nil {
		t.Errorf("Interrupt where nothing runs: %v", err)
	}
	if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); err != nil {
		t.Errorf("a later call did not start again: %v", err)
	}
	if starts, _ := b.prov.counts(); starts != 3 {
		t.Errorf("%d starts, want 3", starts)
	}
}

func TestFailedStartIsReportedBeforeItIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, func(context.Context, int) error { return gone }, nil)
		synctest.Wait() // the start has failed, unreported
		if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); !errors.Is(err, gone) {
			t.Errorf("error %v, want %v", err, gone)
		}
		if starts, _ := b.prov.counts(); starts != 1 {
			t.Errorf("%d starts, want 1", starts)
		}
	})
}

func TestFailedStartIsNotRepeatedAfterTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, func(context.Context, int) error { return gone }, nil)
	if _, err := b.Ready(t.Context()); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
	must.Report(t, b.Close())
	if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("error %v, want unavailable", err)
	}
	if starts, _ := b.prov.counts(); starts != 1 {
		t.Errorf("%d starts, want 1", starts)
	}
}

func TestFailedRestart(t *testing.T) {
	t.Parallel()
	full := fault.New(fault.Full, "no space")
	b := setup(t, func(_ context.Context, n int) error {
		if n == 2 {
			return full
		}
		return nil
	}, dies(gone))
	_, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}})
	if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, full) {
		t.Errorf("error %v of kind %s, want the failed restart as unavailable", err, fault.KindOf(err))
	}
	must.Report(t, b.Stop(t.Context()))
	if _, stops := b.prov.counts(); stops != 1 {
		t.Errorf("%d stops, want the sandbox of the first start stopped", stops)
	}
}

func TestFailedConnect(t *testing.T) {
	t.Parallel()
	prov := &provider{}
	rt := sandboxed.Start(t.Context(), sandboxed.Options{
		Provider: prov,
		Connect:  func(sandbox.Sandbox) (runtime.Runtime, error) { return nil, gone },
	})
	if _, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
	rt.Ack("a")
	must.Report(t, rt.Stop(t.Context()))
	if _, stops := prov.counts(); stops != 1 {
		t.Errorf("%d stops, want 1", stops)
	}
}

func TestEnding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   func(*sandboxed.Runtime, context.Context) error
		stops int
	}{
		"close lets it live": {func(rt *sandboxed.Runtime, _ context.Context) error { return rt.Close() }, 0},
		"stop ends it":       {(*sandboxed.Runtime).Stop, 1},
		"stop after close": {func(rt *sandboxed.Runtime, ctx context.Context) error {
			return errors.Join(rt.Close(), rt.Stop(ctx))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, nil)
			if _, err := b.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			must.Succeed(t, c.end(b.Runtime, t.Context()))
			if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); !fault.Is(err, fault.Unavailable) {
				t.Errorf("Execute after the end: %v, want unavailable", err)
			}
			if _, err := b.Ready(t.Context()); !fault.Is(err, fault.Unavailable) {
				t.Errorf("Ready after the end: %v, want unavailable", err)
			}
			starts, stops := b.prov.counts()
			if starts != 1 || stops != c.stops {
				t.Errorf("%d starts and %d stops, want 1 and %d", starts, stops, c.stops)
			}
		})
	}
}

func TestCloseCancelsAStart(t *testing.T) {
	t.Parallel()
	b := setup(t, func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }, nil)
	must.Report(t, b.Close())
}

func TestServerThatDiesAfterTheEndStaysDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := make(chan struct{})
		b := setup(t, nil, func(context.Context, int, tool.Request) error { <-dead; return gone })
		failed := make(chan error, 1)
		go func() {
			_, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}})
			failed <- err
		}()
		synctest.Wait()
		must.Report(t, b.Stop(t.Context()))
		close(dead)
		if err := <-failed; !fault.Is(err, fault.Unavailable) {
			t.Errorf("error %v, want unavailable", err)
		}
		if starts, _ := b.prov.counts(); starts != 1 {
			t.Errorf("%d starts, want 1", starts)
		}
	})
}
