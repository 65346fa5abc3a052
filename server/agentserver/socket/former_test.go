package socket_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/server/agentserver/socket"
)

// withFormer knows clients of an earlier contract by a header. To them, messages are called
// FORMER, and pieces of answers are not sent.
func withFormer(o *socket.Options) {
	o.Former = socket.Former{
		Is: func(r *http.Request) bool { return r.Header.Get("X-Former") != "" },
		Event: func(raw []byte) []byte {
			if bytes.Contains(raw, []byte(`"StreamingDeltaEvent"`)) {
				return nil
			}
			return bytes.ReplaceAll(raw, []byte(`"text":"`), []byte(`"text":"FORMER `))
		},
		Message: func(raw []byte, dir string) []byte {
			return bytes.ReplaceAll(raw, []byte("hello"), []byte("today in "+dir))
		},
	}
}

// TestFormer: who asks in the former way gets the former form, from the store and live, and
// nobody else does.
func TestFormer(t *testing.T) {
	t.Parallel()
	h := setup(t, withFormer)
	h.add(t, "one")
	former := h.dial(t, h.events()+"?resend_all=true", "X-Former", "1")
	today := []*client{
		h.dial(t, h.events()+"?resend_all=true"),
		h.dial(t, h.events()+"?resend_all=true&resend_mode=all", "X-Former", "1"),
		h.dial(t, h.events()+"?resend_mode=all", "X-Former", "1"),
	}
	former.expect("full_state", "FORMER one")
	for _, c := range today {
		c.expect("full_state", "one")
	}
	if n := h.s.Formers(h.id); n != 1 {
		t.Errorf("%d followers of the former contract, want 1", n)
	}
	h.publish(socket.Transient{After: 1, Delta: &socket.Delta{Item: event.NewID(), Attempt: 1, Kind: socket.DeltaText, Content: "a piece", Choice: -1}})
	h.add(t, "two")
	h.publishState(2)
	former.expect("FORMER two", "full_state")
	for _, c := range today {
		c.expect("text a piece", "two", "full_state")
	}
	former.say(`{"role":"user","content":[{"type":"text","text":"hello"}]}`)
	if m := <-h.sent; event.JoinText(m.Content) != "today in /w/project" {
		t.Errorf("got %v", m)
	}
	former.say(`{"role":7}`)
	former.expect("error ValidationError")
	today[0].say(`{"role":"user","content":"hello"}`)
	if m := <-h.sent; event.JoinText(m.Content) != "hello" {
		t.Errorf("got %v", m)
	}
}
