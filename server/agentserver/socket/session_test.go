package socket_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/session"
	"github.com/google/go-cmp/cmp"
)

func TestSession(t *testing.T) {
	t.Parallel()
	h := setup(t)
	empty := h.dial(t, h.session())
	empty.expect("sync - -", "transient full_state")
	h.add(t, "one", "two", "three")
	empty.expect("0:one", "1:two", "2:three")
	for after, want := range map[string][]string{
		"":                {"sync - 2", "transient full_state"},
		"?after_seq=-1":   {"sync -1 2", "0:one", "1:two", "2:three", "transient full_state"},
		"?after_seq=-7":   {"sync -7 2", "0:one", "1:two", "2:three", "transient full_state"},
		"?after_seq=0":    {"sync 0 2", "1:two", "2:three", "transient full_state"},
		"?after_seq=2":    {"sync 2 2", "transient full_state"},
		"?after_seq=1000": {"sync 1000 2", "transient full_state"},
	} {
		h.dial(t, h.session()+after).expect(want...)
	}
	live := h.dial(t, h.session())
	live.expect("sync - 2", "transient full_state")
	h.add(t, "four")
	h.publishState(4)
	live.expect("3:four", "transient full_state")
}

func delta(item event.ID, attempt, order int, text string, after eventstream.Seq) session.Transient {
	return session.Transient{After: after, Piece: &session.Piece{
		Item: item, Attempt: attempt, Order: order, Kind: "text", Content: text,
	}}
}

func TestItems(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := h.dial(t, h.session())
	c.expect("sync - -", "transient full_state")
	last := h.add(t, "question")
	answer := event.NewUserMessage("answer")
	x := answer.ID
	h.publish(session.Transient{After: last, Piece: &session.Piece{Started: true, Item: x, Attempt: 1, Anchor: last}})
	h.publish(delta(x, 1, 0, "an", last))
	h.publish(session.Transient{After: last, Piece: &session.Piece{Started: true, Item: x, Attempt: 2, Anchor: last}})
	h.publish(delta(x, 2, 0, "answer", last))
	if _, err := h.store.Append(t.Context(), h.id, answer); err != nil {
		t.Fatal(err)
	}
	h.publish(session.Transient{After: last + 1, Piece: &session.Piece{Started: true, Item: "y", Attempt: 1}})
	h.publish(session.Transient{After: last + 1, Piece: &session.Piece{Item: "y", Attempt: 1, Aborted: "cancelled"}})
	c.expect("0:question")
	if f := c.next(); f.Type != "item_started" || f.Anchor == nil || *f.Anchor != 0 {
		t.Errorf("got %v", f)
	}
	x1 := string(x)
	c.expect("delta "+x1+"/1 #0 text an", "started "+x1+"/2", "delta "+x1+"/2 #0 text answer", "1:answer",
		"started y/1", "aborted y/1 cancelled")
}

// TestBehind lets a client miss records that are not stored. It is told that its
// item is over, gets all stored events, and a new state.
func TestBehind(t *testing.T) {
	t.Parallel()
	h := setup(t)
	se, ev := h.dial(t, h.session()), h.dial(t, h.events())
	se.expect("sync - -", "transient full_state")
	ev.expect("full_state")
	h.publish(session.Transient{Piece: &session.Piece{Started: true, Item: "x", Attempt: 3}})
	se.expect("started x/3")
	text := strings.Repeat("d", 64<<10)
	const pieces = 1000 // more than the system's buffers hold
	for i := range pieces {
		h.publish(delta("x", 3, i, text, 0))
		if i == pieces/2 {
			h.publishState(0)
		}
	}
	h.add(t, "stored")
	h.publish(delta("x", 3, pieces, "late", 1))
	h.add(t, "end")
	var order []string
	for due := 0; len(order) < 4; {
		f := se.next()
		if f.Type != "delta" {
			order = append(order, f.String())
			continue
		}
		if f.Order != due || slices.Contains(order, "aborted x/3 slow_consumer") {
			t.Fatalf("piece %d instead of %d, behind %v", f.Order, due, order)
		}
		due++
	}
	slices.Sort(order)
	if diff := cmp.Diff([]string{"0:stored", "1:end", "aborted x/3 slow_consumer", "transient full_state"}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for got := 0; got < 3; {
		if s := ev.next().String(); s == "full_state" || s == "stored" || s == "end" {
			got++
		}
	}
	h.add(t, "fin")
	se.expect("2:fin")
	ev.expect("fin")
}

// stall opens a socket and reads nothing from it but the handshake.
func stall(t *testing.T, h *fixture, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "ws://"))
	must.Succeed(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must.Succeed(t, c.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path)
	must.Succeed(t, err)
	return c
}

// TestStalled cuts off clients that take nothing, in history and live, while
// another goes on.
func TestStalled(t *testing.T) {
	t.Parallel()
	h := setup(t, func(o *socket.Options) { o.WriteTimeout = 100 * time.Millisecond })
	big := strings.Repeat("x", 500_000)
	for range 20 {
		h.add(t, big)
	}
	stall(t, h, h.events()+"?resend_mode=all")
	<-h.gone // no follower is left
	c := stall(t, h, h.session())
	for got := ""; !strings.Contains(got, "sync"); { // until it has joined
		var b [1]byte
		if _, err := c.Read(b[:]); err != nil {
			t.Fatal(err)
		}
		got += string(b[:])
	}
	for range 40 {
		h.add(t, big)
	}
	<-h.gone
	if n := h.s.Followers(h.id); n != 0 {
		t.Errorf("%d followers are left", n)
	}
}

func TestReconnects(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.add(t, "one")
	for i := range 1000 {
		c, _, err := h.try(h.session() + "?after_seq=-1")
		must.Succeed(t, err)
		if i%2 == 0 {
			if _, _, err := c.Read(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.CloseNow()
	}
	<-h.gone
	c := h.dial(t, h.session())
	c.expect("sync - 0", "transient full_state")
	_ = c.CloseNow()
	// goleak finds goroutines that are left, at the end.
}

// TestSlowHandshake holds that a client gets no socket without a key.
func TestSlowHandshake(t *testing.T) {
	t.Parallel()
	h := setup(t, withKeys("k"), func(o *socket.Options) { o.AuthTimeout = 20 * time.Millisecond })
	c := stall(t, h, h.events())
	buf := make([]byte, 4096)
	got := ""
	for {
		n, err := c.Read(buf)
		got += string(buf[:n])
		if err != nil {
			break
		}
	}
	if !strings.Contains(got, http.StatusText(http.StatusSwitchingProtocols)) || !strings.HasSuffix(got, "\x0f\xa1Authentication failed") {
		t.Errorf("got %q", got)
	}
}
