package session_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/conversationlock"
)

// watchedLock is a lock whose watch is the test's.
type watchedLock struct {
	session.Lock
	watching       chan struct{}
	orphaned, lost func(event.ConversationID)
}

func (l *watchedLock) Watch(ctx context.Context, orphaned, lost func(event.ConversationID)) error {
	l.orphaned, l.lost = orphaned, lost
	close(l.watching)
	<-ctx.Done()
	return fault.Wrap(ctx.Err(), fault.Canceled, "the watch has ended")
}

// watched opens a lock of its own for a manager, which the test watches.
func watched(t *testing.T, dir string) *watchedLock {
	t.Helper()
	locks, err := conversationlock.Open(dir)
	must.Succeed(t, err)
	return &watchedLock{Lock: locks, watching: make(chan struct{})}
}

// takeOver has a manager take over until the test ends.
func takeOver(t *testing.T, m *session.Manager, l *watchedLock) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.TakeOver(ctx) }()
	<-l.watching
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the watch ended with %v", err)
		}
	})
}

// replaying is the conversation that replays.
type replaying struct {
	id    event.ConversationID
	asked int
}

func (r *replaying) Replays(_ context.Context, id event.ConversationID) bool {
	if r.id == id {
		r.asked++
	}
	return r.id == id
}

// TestTakeOver has a process lose the lock in the middle of a command: it ends its run
// without a record, and another one continues the conversation.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	var mine *watchedLock
	h := setup(t, inTurn(shell("block"), says("I looked at it")), func(o *session.Options) {
		mine = watched(t, o.Dir)
		o.Lock = mine
	})
	takeOver(t, h.Manager, mine)
	theirs := watched(t, h.dir)
	replays := &replaying{}
	h.o.Lock, h.o.Replays = theirs, replays.Replays
	other := h.another(t)
	t.Cleanup(func() {
		if err := other.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	takeOver(t, other, theirs)
	c := h.begin(t, "")
	send(t, c, "work")
	<-h.tools.started
	theirs.orphaned(c.ID()) // it is not free
	want := []string{"user: work", "running", "ActionEvent"}
	if diff := cmp.Diff(want, h.kinds(t, c.ID())); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	mine.lost(c.ID())
	if diff := cmp.Diff(want, h.kinds(t, c.ID())); diff != "" {
		t.Errorf("after it was lost (-want +got):\n%s", diff)
	}
	if held, err := theirs.Held(c.ID()); held || err != nil {
		t.Errorf("held after it was lost: %v, %v", held, err)
	}
	if n := h.Running(); n != 0 {
		t.Errorf("%d runs where it was lost", n)
	}
	mine.lost(c.ID()) // once more, and a field that it never had
	mine.lost(event.NewConversationID())
	theirs.orphaned(event.NewConversationID())
	replays.id = c.ID() // its replay continues it
	theirs.orphaned(c.ID())
	if _, err := other.Resume(t.Context()); err != nil {
		t.Error(err)
	}
	replays.id = ""
	if n := other.Running(); n != 0 || replays.asked != 2 {
		t.Errorf("%d runs of a replay, asked %d times", n, replays.asked)
	}
	theirs.orphaned(c.ID())
	twin, err := other.Get(t.Context(), c.ID())
	must.Succeed(t, err)
	settle(t, twin)
	want = append(want, "AgentErrorEvent", "agent: I looked at it", "finished")
	if diff := cmp.Diff(want, h.kinds(t, c.ID())); diff != "" {
		t.Errorf("after it was taken over (-want +got):\n%s", diff)
	}
	theirs.orphaned(c.ID()) // it does not run any more
	if n := other.Running(); n != 0 {
		t.Errorf("%d runs after the end", n)
	}
}

// TestTakeOverAlone returns where no other process can take over.
func TestTakeOverAlone(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), nil)
	if err := h.TakeOver(t.Context()); err != nil {
		t.Error(err)
	}
}
