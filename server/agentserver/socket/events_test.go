package socket_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/session"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.add(t, "one", "two")
	all := h.dial(t, h.events()+"?resend_mode=all")
	old := h.dial(t, h.events()+"?resend_all=true")
	live := h.dial(t, h.events())
	since := h.dial(t, h.events()+"?resend_mode=since") // without a time: none
	all.expect("full_state", "one", "two")
	old.expect("full_state", "one", "two")
	live.expect("full_state")
	since.expect("full_state")
	h.add(t, "three")
	h.publishState(3)
	for _, c := range []*client{all, old, live, since} {
		c.expect("three", "full_state")
	}
}

// TestNaiveTimestamps: events keep their times without a zone, and a client asks
// with one of them for the events since, itself included.
func TestNaiveTimestamps(t *testing.T) {
	t.Parallel()
	h := setup(t)
	evs := make([]event.Event, 3)
	start := time.Now().Add(-time.Hour)
	for i := range evs {
		m := event.NewUserMessage(fmt.Sprint(i))
		m.Timestamp = event.At(start.Add(time.Duration(i) * time.Second))
		evs[i] = m
	}
	if _, err := h.store.Append(t.Context(), h.id, evs...); err != nil {
		t.Fatal(err)
	}
	stamp := string(evs[1].Meta().Timestamp)
	c := h.dial(t, h.events()+"?resend_mode=since&after_timestamp="+stamp)
	c.expect("full_state")
	for i := range 2 {
		if f := c.next(); f.At != string(evs[i+1].Meta().Timestamp) || strings.ContainsAny(f.At, "Z+") {
			t.Errorf("got %q at %q", f, f.At)
		}
	}
	zoned := start.Add(2 * time.Second).In(time.FixedZone("", 5*3600)).Format("2006-01-02T15:04:05.000000-07:00")
	c = h.dial(t, h.events()+"?resend_mode=since&after_timestamp="+strings.ReplaceAll(zoned, "+", "%2B"))
	c.expect("full_state", "2")
	c = h.dial(t, h.events()+"?resend_mode=since&after_timestamp=2999-01-01T00:00:00")
	c.expect("full_state")
	h.add(t, "live")
	c.expect("live")
}

func TestStateFirstThoughPublished(t *testing.T) {
	t.Parallel()
	h := setup(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				h.publish(session.Transient{Piece: &session.Piece{Item: "x", Attempt: 1, Kind: "text", Content: "a"}})
			}
		}
	}()
	for range 20 {
		c := h.dial(t, h.events())
		c.expect("full_state")
		_ = c.CloseNow()
	}
	close(stop)
	<-stopped
}

// TestNoOldState holds that a state published before the client's first one
// never comes behind it: it could end the client's run early.
func TestNoOldState(t *testing.T) {
	t.Parallel()
	h := setup(t)
	keep := h.dial(t, h.events())
	keep.expect("full_state")
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				h.publishState(0)
			}
		}
	})
	wg.Go(func() {
		for {
			if _, _, err := keep.Read(context.Background()); err != nil {
				return
			}
		}
	})
	for range 30 {
		c := h.dial(t, h.events())
		last := 0
		for range 5 {
			var n int
			if _, err := fmt.Sscanf(string(c.next().Value), `{"made":%d`, &n); err != nil {
				t.Fatal(err)
			}
			if n <= last {
				t.Fatalf("state %d comes behind %d", n, last)
			}
			last = n
		}
		_ = c.CloseNow()
	}
	close(stop)
	_ = keep.CloseNow()
	wg.Wait()
}

// TestNoGapNoDuplicate lets clients of all kinds join at any time while events
// are appended.
func TestNoGapNoDuplicate(t *testing.T) {
	t.Parallel()
	const events, clients = 600, 40
	h := setup(t)
	h.add(t, "0")
	paths := []string{
		h.events() + "?resend_mode=all", h.session() + "?after_seq=-1", h.session() + "?after_seq=0", h.session(), h.events(),
		h.events() + "?resend_mode=since&after_timestamp=2000-01-01T00:00:00",
	}
	var wg, joined sync.WaitGroup
	joined.Add(clients)
	wg.Go(func() {
		for n := 1; n < events-1; {
			var names []string
			for range min(1+rand.IntN(20), events-1-n) {
				names = append(names, fmt.Sprint(n))
				n++
			}
			h.publishState(h.add(t, names...))
		}
		joined.Wait()
		h.add(t, fmt.Sprint(events-1))
	})
	for i := range clients {
		wg.Go(func() { followAll(t, h, paths[i%len(paths)], events, joined.Done) })
	}
	wg.Wait()
}

// followAll joins and expects events named by their numbers up to the last.
func followAll(t *testing.T, h *fixture, path string, events int, joined func()) {
	c := h.dial(t, path)
	defer c.CloseNow()
	first := c.next() // a state, or sync
	joined()
	due := 0
	switch path {
	case h.session():
		due = *first.Through + 1
	case h.session() + "?after_seq=0":
		due = 1
	case h.events():
		due = -1 // whatever comes first
	}
	for due < events {
		f := c.next()
		if f.Type == "durable" {
			if *f.Seq != due {
				t.Errorf("%s: event %d instead of %d", path, *f.Seq, due)
				return
			}
			f = f.Event
		}
		if f.Message == nil {
			continue
		}
		var n int
		if _, err := fmt.Sscan(f.String(), &n); err != nil || due >= 0 && n != due {
			t.Errorf("%s: event %d (%v) instead of %d", path, n, err, due)
			return
		}
		due = n + 1
	}
}

// TestStateAfterItsEvents publishes before the stream's reader can have seen
// the events that were stored before.
func TestStateAfterItsEvents(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := h.dial(t, h.events())
	c.expect("full_state")
	for i := range 50 {
		h.publishState(h.add(t, fmt.Sprint("a", i), fmt.Sprint("b", i)))
		c.expect(fmt.Sprint("a", i), fmt.Sprint("b", i), "full_state")
	}
}

// TestOvertakenState publishes an older state behind a newer one, as two
// publishers at one time can.
func TestOvertakenState(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := h.dial(t, h.session())
	c.expect("sync - -", "transient full_state")
	h.add(t, "one", "two")
	h.publishState(2)
	h.publishState(1)
	h.add(t, "three")
	c.expect("0:one", "1:two", "transient full_state", "2:three")
}

func TestDeltasOfEvents(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := h.dial(t, h.events())
	c.expect("full_state")
	h.publish(session.Transient{Piece: &session.Piece{Started: true, Item: "x", Attempt: 1}}) // not for this socket
	h.publish(session.Transient{Piece: &session.Piece{Item: "x", Attempt: 1, Kind: "text", Content: "he"}})
	h.publish(session.Transient{Piece: &session.Piece{Item: "x", Attempt: 1, Kind: "reasoning", Content: "llo"}})
	h.publish(session.Transient{Piece: &session.Piece{Item: "x", Attempt: 1, Aborted: "cancelled"}})
	h.add(t, "end")
	c.expect("text he", "text llo", "end")
}

func TestInbound(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ev, se := h.dial(t, h.events()), h.dial(t, h.session())
	ev.expect("full_state")
	se.expect("sync - -", "transient full_state")
	for frame, want := range map[string]string{
		`not json`:                            "error JSONDecodeError",
		`{"role":`:                            "error JSONDecodeError",
		`[1]`:                                 "error ValidationError",
		`null`:                                "error ValidationError",
		`{"content":[]}`:                      "error ValidationError",
		`{"role":"boss"}`:                     "error ValidationError",
		`{"role":7}`:                          "error ValidationError",
		`{"role":"assistant","content":"hi"}`: "error AssertionError",
		`{"role":"system","content":"hi"}`:    "error AssertionError",
		`{"role":"user","content":{"type":"text","text":"x"}}`: "error ValidationError",
		`{"role":"user","content":["x"]}`:                      "error ValidationError",
		`{"role":"user","content":[{"type":"video"}]}`:         "error ValidationError",
		`{"type":"auth","session_api_key":"k","more":1}`:       "error ValidationError",
	} {
		for _, c := range []*client{ev, se} {
			c.say(frame)
			if f := c.next(); f.String() != want || f.Detail == "" {
				t.Errorf("%s gives %s (%s), want %s", frame, f, f.Detail, want)
			}
		}
	}
	// As Canvas sends it (docs/openhands/clients.md section B).
	ev.say(`{"role":"user","content":[{"type":"text","text":"hi"},{"image_urls":["data:x"]}],"run":true}`)
	m := <-h.sent
	if m.Role != event.RoleUser || len(m.Content) != 2 || m.Content[0].Text != "hi" || m.Content[1].Type != event.TypeImage {
		t.Errorf("got %+v", m)
	}
	h.mu.Lock()
	h.fail = fault.New(fault.RateLimit, "at capacity")
	h.mu.Unlock()
	ev.say(`{"role":"user"}`)
	if f := ev.next(); f.Code != "ConversationRunLimitExceeded" || f.Detail != "at capacity" {
		t.Errorf("got %s: %s", f.Code, f.Detail)
	}
}

func TestLongMessage(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := h.dial(t, h.events())
	c.expect("full_state")
	c.say(`{"role":"user","content":"` + strings.Repeat("x", 20<<20) + `"}`)
	if m := <-h.sent; len(m.Content[0].Text) != 20<<20 {
		t.Errorf("got %d bytes", len(m.Content[0].Text))
	}
	go func() { _ = c.Write(context.Background(), websocket.MessageText, make([]byte, socket.MaxMessage+1)) }()
	if code, _ := c.ends(); code != websocket.StatusMessageTooBig && code != -1 {
		t.Errorf("closed with %d", code)
	}
	<-h.gone
}

func TestDeletedConversation(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := h.dial(t, h.events())
	c.expect("full_state")
	must.Succeed(t, h.store.Delete(t.Context(), h.id))
	if code, _ := c.ends(); code != 4004 {
		t.Errorf("closed with %d", code)
	}
}

func TestLargeEvents(t *testing.T) {
	t.Parallel()
	h := setup(t, func(o *socket.Options) { o.MaxFrame = 1 << 20 })
	h.large = strings.Repeat("s", 300_000)
	small, big := strings.Repeat("a", 100_000), strings.Repeat("b", 1<<20)
	h.add(t, "x", small, "y", small)
	ev := h.dial(t, h.events()+"?resend_mode=all")
	se := h.dial(t, h.session()+"?after_seq=-1")
	ev.expect("full_state", "x", small, "y", small)
	se.expect("sync -1 3", "0:x", "1:"+small, "2:y", "3:"+small, "transient full_state")
	h.add(t, small, "z", big)
	ev.expect(small, "z", big)
	se.expect("4:"+small, "5:z")
	if code, reason := se.ends(); code != websocket.StatusTryAgainLater || reason != "frame_too_large" {
		t.Errorf("closed with %d %q", code, reason)
	}
	se = h.dial(t, h.session()+"?after_seq=5")
	if code, reason := se.ends(); code != websocket.StatusTryAgainLater || reason != "frame_too_large" {
		t.Errorf("closed with %d %q", code, reason)
	}
}

func TestNotUTF8(t *testing.T) {
	t.Parallel()
	h := setup(t)
	raw := []byte(`{"id":"1","kind":"Odd","key":"a` + "\xff" + `b"}`)
	if _, err := h.store.AppendRecords(t.Context(), h.id, eventstream.Record{ID: "1", Kind: "Odd", JSON: raw}); err != nil {
		t.Fatal(err)
	}
	c := h.dial(t, h.events()+"?resend_mode=all")
	c.expect("full_state", "a\ufffdb")
}
