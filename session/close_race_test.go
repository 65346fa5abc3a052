package session_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

// commandThenAnswer runs a command for a user's message, and answers once that has
// run.
func commandThenAnswer(_ context.Context, r llm.Request) (*llm.Response, error) {
	if r.Messages[len(r.Messages)-1].Role == event.RoleUser {
		return shell("echo"), nil
	}
	if text := lastText(r); !strings.Contains(text, "echo") {
		return says("the command failed: " + text), nil
	}
	return says("ok"), nil
}

// TestCloseBesideStart evicts and suspends a conversation while runs begin: a run
// keeps its resources, and each message is answered.
func TestCloseBesideStart(t *testing.T) {
	t.Parallel()
	for name, closing := range map[string]func(*fixture, event.ConversationID) error{
		"evict":   func(h *fixture, id event.ConversationID) error { return h.Evict(t.Context(), id, true) },
		"suspend": func(h *fixture, _ event.ConversationID) error { return h.Suspend(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, commandThenAnswer, nil)
			id := h.begin(t, "").ID()
			for range 25 {
				c := h.get(t, id)
				var both sync.WaitGroup
				both.Go(func() {
					if err := c.Send(t.Context(), message("work", true)); err != nil {
						t.Error("send:", err)
					}
				})
				both.Go(func() {
					if err := closing(h, id); err != nil && !errors.Is(err, session.ErrRunning) {
						t.Error("close:", err)
					}
				})
				both.Wait()
				c = h.get(t, id)
				settle(t, c)
				if status(t, c) != "finished" { // suspended in the middle
					must.Succeed(t, c.Run(t.Context()))
					settle(t, c)
				}
				// Suspending may cut the command off.
				if got := lastRecord(t, h, c); got != "agent: ok" && (name != "suspend" || !strings.Contains(got, "cut off")) {
					t.Fatalf("last is %q in %v", got, h.kinds(t, id))
				}
			}
		})
	}
}

// TestDeleteBesideStart deletes conversations while runs begin: afterwards they
// are gone, and nothing runs.
func TestDeleteBesideStart(t *testing.T) {
	t.Parallel()
	h := setup(t, commandThenAnswer, nil)
	for range 20 {
		c := h.begin(t, "")
		var both sync.WaitGroup
		both.Go(func() {
			err := c.Send(t.Context(), message("work", true))
			if err != nil && !fault.Is(err, fault.NotFound) {
				t.Error("send:", err)
			}
		})
		both.Go(func() {
			if _, err := h.Delete(t.Context(), c.ID()); err != nil {
				t.Error("delete:", err)
			}
		})
		both.Wait()
		settle(t, c)
		if _, err := h.Get(t.Context(), c.ID()); !fault.Is(err, fault.NotFound) {
			t.Fatalf("a deleted conversation is there: %v", err)
		}
	}
	if n := h.Running(); n != 0 {
		t.Errorf("%d runs are left", n)
	}
}

// TestEvictBesideMessages evicts a conversation while messages are stored: each is
// part of the agent's view, and none hangs on an older event beside another one.
func TestEvictBesideMessages(t *testing.T) {
	t.Parallel()
	h := setup(t, commandThenAnswer, nil)
	id := h.begin(t, "").ID()
	const messages = 40
	done := make(chan struct{})
	var both sync.WaitGroup
	both.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := h.Evict(t.Context(), id, true); err != nil {
				t.Error("evict:", err)
				return
			}
		}
	})
	c := h.get(t, id)
	for range messages {
		if err := c.Send(t.Context(), message("note", false)); err != nil {
			t.Fatal("send:", err)
		}
	}
	close(done)
	both.Wait()
	s, err := h.get(t, id).State(t.Context())
	must.Succeed(t, err)
	seen := 0
	for _, ev := range s.View {
		if ev.Kind() == "MessageEvent" {
			seen++
		}
	}
	if seen != messages {
		t.Errorf("the agent sees %d of %d messages", seen, messages)
	}
}
