package sandboxed_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/tool"
)

// TestPause: the sandbox is suspended while the server is still connected, and can be
// stopped later.
func TestPause(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		start  error
		pause  error
		stops  bool
		failed bool
	}{
		"running":     {stops: true},
		"ended":       {pause: fault.New(fault.NotFound, "it has ended")},
		"not started": {start: errors.New("no engine")},
		"refused":     {pause: fault.New(fault.Unavailable, "no engine"), failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(context.Context, int) error { return tt.start }, nil)
			b.prov.pauseErr = tt.pause
			if _, err := b.Ready(t.Context()); (err != nil) != (tt.start != nil) {
				t.Fatal(err)
			}
			stop, err := b.Pause(t.Context())
			if (err != nil) != tt.failed || (stop != nil) != tt.stops {
				t.Fatalf("stop %v, error %v", stop != nil, err)
			}
			if stop == nil {
				return
			}
			must.Succeed(t, stop(t.Context()))
			if _, stops := b.prov.counts(); stops != 1 || b.prov.pauses != 1 {
				t.Errorf("%d stops and %d pauses, want one each", stops, b.prov.pauses)
			}
			if _, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}}); !fault.Is(err, fault.Unavailable) {
				t.Errorf("it goes on after the pause: %v", err)
			}
		})
	}
}

// TestEndedError: an action whose sandbox has ended while it ran says why, also if the
// next one could not be started at once.
func TestEndedError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reason sandbox.Reason
		want   string
	}{
		"killed":  {sandbox.Reason{Cause: sandbox.CauseOutOfMemory, Message: "too much memory"}, "too much memory"},
		"exited":  {sandbox.Reason{Cause: sandbox.CauseExited, ExitCode: 3}, "its program ended with exit code 3"},
		"removed": {sandbox.Reason{Cause: sandbox.CauseRemoved}, "removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := func(_ context.Context, n int) error {
				if n == 2 {
					return fault.New(fault.Unavailable, "no engine for a moment")
				}
				return nil
			}
			b := setup(t, start, func(_ context.Context, n int, r tool.Request) error {
				switch {
				case n == 1:
					return gone
				case !r.Again && r.ID == "a":
					return errors.New("the second server got the action as a new one")
				}
				return fault.New(fault.Interrupted, "it had begun")
			})
			b.prov.ended = tt.reason
			_, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}})
			if !fault.Is(err, fault.Unavailable) {
				t.Fatalf("without a sandbox: %v", err)
			}
			_, err = b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}, Again: true})
			ended, ok := errors.AsType[*runtime.EndedError](err)
			if !ok || ended.Reason != tt.want || !fault.Is(err, fault.Interrupted) {
				t.Errorf("error %v, want that the sandbox has ended: %s", err, tt.want)
			}
		})
	}
}

// TestConnectionLost: a sandbox that goes on is not said to have ended.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(_ context.Context, n int, _ tool.Request) error {
		if n == 1 {
			return gone
		}
		return fault.New(fault.Interrupted, "it had begun")
	})
	_, err := b.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}})
	if _, ok := errors.AsType[*runtime.EndedError](err); ok || !fault.Is(err, fault.Interrupted) {
		t.Errorf("got %v", err)
	}
}

// TestEndIsTold: the end of a sandbox is reported once, and no end of a stopped
// one.
func TestEndIsTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop func(context.Context, *sandboxed.Runtime) error
		want int
	}{
		"by itself": {func(context.Context, *sandboxed.Runtime) error { return nil }, 1},
		"closed":    {func(_ context.Context, r *sandboxed.Runtime) error { return r.Close() }, 0},
		"stopped":   {func(ctx context.Context, r *sandboxed.Runtime) error { return r.Stop(ctx) }, 0},
		"paused": {func(ctx context.Context, r *sandboxed.Runtime) error {
			_, err := r.Pause(ctx)
			return err
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &provider{done: make(chan struct{})}
				told := 0
				r := sandboxed.Start(t.Context(), sandboxed.Options{
					Provider: p,
					Connect:  func(sandbox.Sandbox) (runtime.Runtime, error) { return &server{}, nil },
					OnEnd:    func(sandbox.Sandbox) { told++ },
				})
				if _, err := r.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				must.Succeed(t, tt.stop(t.Context(), r))
				close(p.done)
				synctest.Wait()
				if told != tt.want {
					t.Errorf("told %d times, want %d", told, tt.want)
				}
				must.Report(t, r.Close())
			})
		})
	}
}
