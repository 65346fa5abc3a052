package session_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
)

// TestSuspend interrupts running actions, keeps watchers, and goes on afterwards.
func TestSuspend(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("block"), says("done")), nil)
	c := h.begin(t, "")
	stop := c.Watch(func(session.Transient) {})
	defer stop()
	send(t, c, "work")
	<-h.tools.started
	must.Succeed(t, h.Suspend(t.Context()))
	if n := h.Running(); n != 0 {
		t.Errorf("%d runs after suspending", n)
	}
	if got := describe(t, c); !strings.Contains(got, `"execution_status":"paused"`) {
		t.Errorf("the suspended conversation is %s", got)
	}
	if h.get(t, c.ID()) != c {
		t.Error("a watched conversation was evicted")
	}
	send(t, c, "go on")
	settle(t, c)
	if n := h.made(c.ID()); n != 2 {
		t.Errorf("resources were built %d times, want once before and once after", n)
	}
	if got := h.stored(t, c.ID()); !strings.Contains(got, "done") {
		t.Errorf("the conversation did not go on: %s", got)
	}
}
