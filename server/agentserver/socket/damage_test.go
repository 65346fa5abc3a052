package socket_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/socket"
)

// damaged is a stream of which some events cannot be read.
type damaged struct {
	eventstream.Stream
	bad map[eventstream.Seq]bool
}

func (d damaged) broken(in iter.Seq2[eventstream.Record, error]) iter.Seq2[eventstream.Record, error] {
	return func(yield func(eventstream.Record, error) bool) {
		for r, err := range in {
			if err == nil && d.bad[r.Seq] {
				yield(eventstream.Record{}, fault.New(fault.Corrupt, "damaged"))
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (d damaged) Read(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	return d.broken(d.Stream.Read(ctx, id, from))
}

func (d damaged) Follow(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	return d.broken(d.Stream.Follow(ctx, id, from))
}

// TestDamage leaves out unreadable events, in history and live, as the reference
// does.
func TestDamage(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.store = damaged{h.store, map[eventstream.Seq]bool{1: true, 3: true, 4: true, 6: true, 8: true}}
	h.add(t, "1", "2", "3", "4", "5", "6")
	c := h.dial(t, h.session()+"?after_seq=-1")
	c.expect("sync -1 5", "1:2", "4:5", "transient full_state")
	h.add(t, "7", "8", "9")
	h.publishState(8)
	c.expect("6:7")
	got := []string{c.next().String(), c.next().String()}
	if s := strings.Join(got, ", "); s != "transient full_state, 8:9" && s != "8:9, transient full_state" {
		t.Errorf("got %s", s)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	h := setup(t, func(o *socket.Options) { o.PingEvery = time.Millisecond })
	pings := make(chan struct{}, 1)
	c, _, err := websocket.Dial(context.Background(), h.url+h.events(), &websocket.DialOptions{
		OnPingReceived: func(context.Context, []byte) bool {
			select {
			case pings <- struct{}{}:
			default:
			}
			return true
		},
	})
	must.Succeed(t, err)
	cl := &client{t, c}
	cl.expect("full_state")
	done := make(chan struct{})
	var ended error
	go func() { // handles pings until the end; events may come between them
		defer close(done)
		for ended == nil {
			_, _, ended = c.Read(context.Background())
		}
	}()
	for range 3 {
		select {
		case <-pings:
		case <-done:
			t.Fatal("the connection has ended: ", ended)
		}
	}
	_ = c.CloseNow()
	<-done
}
