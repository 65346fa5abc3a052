package actionserver_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/tool"
)

// offering is an executor that brings a tool.
type offering struct{ tool.Executor }

func (offering) Tools() []tool.External {
	return []tool.External{{Name: "deploy", Description: "Deploys.", ActionKind: "DeployAction"}}
}

func (offering) Close() error { return nil }

// TestTools asks for the tools that executors bring, and for the error if there are
// no executors.
func TestTools(t *testing.T) {
	t.Parallel()
	rt := connect(t, serve(t, map[string]tool.Executor{"DeployAction": offering{}, "OtherAction": offering{}}, 0))
	got, err := rt.Tools(t.Context())
	must.Succeed(t, err)
	if diff := cmp.Diff(offering{}.Tools(), got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	failing := connect(t, serveWith(t, actionserver.Options{SetupErr: fault.New(fault.Invalid, "it names no action").Hint("name one")}))
	if _, err := failing.Tools(t.Context()); !fault.Is(err, fault.Invalid) || err.Error() != "it names no action" || fault.HintOf(err) != "name one" {
		t.Errorf("error %v", err)
	}
}

// warmed is an executor that says when it is to get ready.
type warmed struct {
	offering
	began, ended chan struct{}
}

func (w warmed) Warm(ctx context.Context) error {
	close(w.began)
	<-ctx.Done()
	close(w.ended)
	return ctx.Err()
}

// TestWarm: executors get ready before there is a client, if that is asked for, and none
// goes on when the server has ended.
func TestWarm(t *testing.T) {
	t.Parallel()
	for _, warm := range []bool{true, false} {
		w := warmed{began: make(chan struct{}), ended: make(chan struct{})}
		s := serveWith(t, actionserver.Options{Tools: map[string]tool.Executor{"DeployAction": w}, Warm: warm})
		if warm {
			<-w.began
		}
		s.stop()
		<-s.ended
		select {
		case <-w.ended:
			if !warm {
				t.Error("an executor got ready unasked")
			}
		default:
			if warm {
				t.Error("an executor goes on getting ready")
			}
		}
	}
}

// TestSettled: the work after the start happens once, and not before the first action
// has ended.
func TestSettled(t *testing.T) {
	t.Parallel()
	settled := make(chan struct{}, 2)
	s := serveWith(t, actionserver.Options{Settled: func() { settled <- struct{}{} }})
	rt := connect(t, s)
	if _, err := rt.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-settled:
		t.Error("settled without an action")
	default:
	}
	for range 2 {
		_, _ = rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Action: &event.TerminalAction{Command: "true"}}}) // there is no such tool: it ends all the same
	}
	<-settled
	s.stop()
	<-s.ended
	if len(settled) > 0 {
		t.Error("settled twice")
	}
}
