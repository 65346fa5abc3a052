package socket_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/session"
)

// WatchOutput implements [socket.Conversation] for one watcher.
func (c *talk) WatchOutput(f func(session.Output)) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.printed {
		f(o)
	}
	c.print = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.print = nil
	}
}

func (h *fixture) output() string { return "/sockets/output/" + string(h.id) }

// prints publishes output of an action.
func (c *talk) prints(o session.Output) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.print(o)
}

type piece struct {
	Type, Text string
	Action     string `json:"action_id"`
	Cut        bool
}

func (c *client) piece() (p piece) {
	c.tb.Helper()
	typ, b, err := c.Read(context.Background())
	must.Succeed(c.tb, err)
	if err := json.Unmarshal(b, &p); err != nil || typ != websocket.MessageText || p.Type != "output" {
		c.tb.Fatalf("the frame is %.200s (%v)", b, err)
	}
	return p
}

// TestOutput sends earlier output, then new output, of two actions.
func TestOutput(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.printed = []session.Output{{Action: "a", Text: "\x1b[31mold\n", Cut: true}}
	c := h.dial(t, h.output())
	if p := c.piece(); p != (piece{"output", "\x1b[31mold\n", "a", true}) {
		t.Errorf("the first piece is %+v", p)
	}
	h.prints(session.Output{Action: "a", Text: "new"})
	if p := c.piece(); p != (piece{"output", "new", "a", false}) {
		t.Errorf("the second piece is %+v", p)
	}
	c.say(`{"type":"auth"}`)
	h.prints(session.Output{Action: "b", Text: "other"})
	if p := c.piece(); p != (piece{"output", "other", "b", false}) {
		t.Errorf("the third piece is %+v", p)
	}
	if n := h.s.Followers(h.id); n != 1 {
		t.Errorf("%d follow", n)
	}
	_ = c.CloseNow()
	<-h.gone
	h.s.Close()
	if h.print != nil {
		t.Error("it is watched when nobody is there")
	}
}

// TestOutputOfASlowClient loses the oldest, says so, and delays nobody.
func TestOutputOfASlowClient(t *testing.T) {
	t.Parallel()
	h := setup(t, func(o *socket.Options) { o.WriteTimeout = time.Minute })
	h.printed = []session.Output{{Action: "a", Text: "first"}}
	c := h.dial(t, h.output())
	c.piece()
	line := strings.Repeat("ä", 500) + "\n"
	const lines = 12_000 // more than the connection's buffers take
	for range lines {
		h.prints(session.Output{Action: "a", Text: line})
	}
	h.prints(session.Output{Action: "a", Text: "end"})
	cut, size := false, 0
	for {
		p := c.piece()
		cut = cut || p.Cut
		size += len(p.Text)
		if rest := strings.ReplaceAll(p.Text, line, ""); rest != "" && rest != "end" {
			t.Fatalf("a piece has %.50q beside whole lines", rest)
		}
		if strings.HasSuffix(p.Text, "end") {
			break
		}
	}
	if !cut || size >= lines*len(line) {
		t.Errorf("%d of %d bytes came, cut: %v", size, lines*len(line), cut)
	}
}

// TestOutputIsRefused without a key, and for an unknown conversation.
func TestOutputIsRefused(t *testing.T) {
	t.Parallel()
	h := setup(t, withKeys("key"))
	if _, res, err := h.try(h.output() + "?session_api_key=other"); err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("another key: %v", err)
	}
	c := h.dial(t, h.output())
	c.say(`{"type":"auth","session_api_key":"other"}`)
	if code := c.closed(); code != 4001 {
		t.Errorf("another key in a frame: %d", code)
	}
	c = h.dial(t, "/sockets/output/11111111-1111-1111-1111-111111111111?session_api_key=key")
	if code := c.closed(); code != 4004 {
		t.Errorf("another conversation: %d", code)
	}
}
