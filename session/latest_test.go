package session_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/session"
)

// late is a store whose word that a run has ended takes a while to come back
// to the writer; readers have it at once.
type late struct {
	eventstream.Stream
	once      sync.Once
	committed chan struct{}
	asked     chan struct{} // somebody has read how many events there are
	release   chan struct{}
}

func (l *late) Info(ctx context.Context, id event.ConversationID) (eventstream.Info, error) {
	info, err := l.Stream.Info(ctx, id)
	l.ask()
	return info, err
}

func (l *late) Last(ctx context.Context, id event.ConversationID) (eventstream.Seq, error) {
	last, err := l.Stream.Last(ctx, id)
	l.ask()
	return last, err
}

func (l *late) ask() {
	select {
	case l.asked <- struct{}{}:
	default:
	}
}

func (l *late) Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (eventstream.Seq, error) {
	last, err := l.Stream.Append(ctx, id, evs...)
	for _, ev := range evs {
		u, ok := ev.(*event.ConversationStateUpdateEvent)
		if ok && strings.Contains(string(u.Value), "finished") {
			l.once.Do(func() {
				close(l.committed)
				<-l.release
			})
		}
	}
	return last, err
}

// TestEndIsSeen: a client that has seen the last event of a run receives
// its end by everything it asks then, and can start another run.
func TestEndIsSeen(t *testing.T) {
	t.Parallel()
	l := &late{committed: make(chan struct{}), release: make(chan struct{}), asked: make(chan struct{})}
	h := setup(t, inTurn(says("one"), says("two")), func(o *session.Options) {
		l.Stream, o.Store = o.Store, l
	})
	c := h.begin(t, "")
	send(t, c, "go")
	<-l.committed
	described := make(chan string, 1)
	go func() {
		raw, err := c.Describe(t.Context())
		if err != nil {
			t.Error(err)
		}
		described <- field(t, raw, "execution_status")
	}()
	ran := make(chan error, 1)
	go func() { ran <- c.Run(t.Context()) }()
	<-l.asked
	for range 10_000 { // time enough to give the wrong answer
		runtime.Gosched()
	}
	close(l.release)
	if got := <-described; got != "finished" {
		t.Errorf("the status is %s", got)
	}
	if err := <-ran; err != nil {
		t.Errorf("run again: %v", err)
	}
	settle(t, c)
}
