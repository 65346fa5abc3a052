package socket_test

import (
	"testing"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/bash"
	"github.com/deft-dev/deft/server/agentserver/socket"
)

func withShell(t *testing.T, followers int) *fixture {
	b, err := bash.Open(bash.Options{Dir: t.TempDir(), MaxFollowers: followers})
	must.Succeed(t, err)
	h := setup(t, func(o *socket.Options) { o.Bash = b })
	t.Cleanup(func() { // before the sockets are closed
		must.Report(t, b.Close())
	})
	return h
}

func TestShell(t *testing.T) {
	t.Parallel()
	h := withShell(t, 2)
	c := h.dial(t, "/sockets/bash-events")
	c.say(`{"command":"echo hi","cwd":null,"timeout":20}`)
	c.expect("BashCommandecho hi", "BashOutput")
	c.say(auth)
	c.say(`no json`)
	c.say(`{"x":1}`)
	if f := c.next(); f.Code != "JSONDecodeError" || f.Kind != "BashError" {
		t.Errorf("got %+v", f)
	}
	if f := c.next(); f.Code != "ValidationError" || f.ID == "" || f.At[len(f.At)-1] != 'Z' {
		t.Errorf("got %+v", f)
	}
	all := h.dial(t, "/sockets/bash-events?resend_mode=all")
	all.expect("BashCommandecho hi", "BashOutput")
	c.say(`{"command":"true"}`)
	c.expect("BashCommandtrue", "BashOutput")
	all.expect("BashCommandtrue", "BashOutput")
	full := h.dial(t, "/sockets/bash-events")
	if code, reason := full.ends(); code != websocket.StatusTryAgainLater || reason != "Too many bash event connections" {
		t.Errorf("closed with %d %q", code, reason)
	}
	if _, res, err := h.try("/sockets/bash-events?resend_mode=since"); err == nil || res.StatusCode != 403 {
		t.Errorf("got %v", err)
	}
}

// TestShellLeaves holds that a client that goes gives its place back.
func TestShellLeaves(t *testing.T) {
	t.Parallel()
	h := withShell(t, 20)
	for range 100 {
		c := h.dial(t, "/sockets/bash-events")
		c.say(`{}`)
		c.next()
		_ = c.Close(websocket.StatusNormalClosure, "") // returns when the server has answered
	}
	h.s.Close()
}
