package controller_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// write appends messages 0 to n-1 of the user.
func (b *bundle) write(t testing.TB, n int) {
	t.Helper()
	var evs []event.Event
	for i := range n {
		evs = append(evs, event.NewUserMessage(fmt.Sprint(i)))
	}
	if _, err := b.stream.Append(t.Context(), b.cfg.ID, evs...); err != nil {
		t.Fatal(err)
	}
}

// TestOpenLong holds that a long history is folded in its order.
func TestOpenLong(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 255, 256, 257, 2600} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, script())
			b.write(t, n)
			b.reopen(t)
			view := b.State().View
			if len(view) != n {
				t.Fatalf("%d events", len(view))
			}
			for i, ev := range view {
				if got := event.JoinText(ev.(*event.MessageEvent).LLMMessage.Content); got != fmt.Sprint(i) {
					t.Fatalf("event %d says %s", i, got)
				}
			}
		})
	}
}

// broken is a stream one event of which is no event, or cannot be read.
type broken struct {
	eventstream.Stream
	at  eventstream.Seq
	err error
}

func (b broken) Read(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	return func(yield func(eventstream.Record, error) bool) {
		for rec, err := range b.Stream.Read(ctx, id, from) {
			if rec.Seq == b.at && b.err != nil {
				yield(eventstream.Record{}, b.err)
				return
			}
			if rec.Seq == b.at {
				rec.JSON = []byte(`{"kind":`)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func TestOpenDamaged(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script())
	b.write(t, 2000)
	for _, at := range []eventstream.Seq{1, 256, 257, 700, 1999, 2000} {
		cfg := b.cfg
		cfg.Stream = broken{Stream: b.stream, at: at}
		if _, err := controller.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("event %d of", at)) {
			t.Errorf("event %d is none: %v", at, err)
		}
		cfg.Stream = broken{Stream: b.stream, at: at, err: context.DeadlineExceeded}
		if _, err := controller.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
			t.Errorf("event %d cannot be read: %v", at, err)
		}
		if at < 2000 { // the first fault is the one that is reported
			cfg.Stream = broken{Stream: broken{Stream: b.stream, at: at + 1, err: context.DeadlineExceeded}, at: at}
			if _, err := controller.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("event %d of", at)) {
				t.Errorf("event %d is none, the next cannot be read: %v", at, err)
			}
		}
	}
}
