package session_test

import (
	"context"
	"testing"
	"time"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

// TestToldAgain checks that a client that missed the end of a run, and asks
// for the state repeatedly, receives it.
func TestToldAgain(t *testing.T) {
	t.Parallel()
	h := setup(t, func(context.Context, llm.Request) (*llm.Response, error) { return says("done"), nil }, nil)
	c := h.begin(t, "")
	send(t, c, "hi")
	settle(t, c)
	got := make(chan struct{}, 1000)
	stop := c.Watch(func(tr session.Transient) { // after the end was told
		if tr.FullState {
			got <- struct{}{}
		}
	})
	defer stop()
	for poll := time.NewTicker(150 * time.Millisecond); ; {
		if _, err := h.Summary(t.Context(), c.ID()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-got:
			poll.Stop()
			return
		case <-poll.C:
		}
	}
}
