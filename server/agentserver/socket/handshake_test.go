package socket_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/server/rest"
)

func asClose(err error, e *websocket.CloseError) bool { return errors.As(err, e) }

const auth = `{"type":"auth","session_api_key":"right"}`

// The answers are the reference's, asked on 2026-11-21.
func TestRefusedHandshakes(t *testing.T) {
	t.Parallel()
	h := setup(t, withKeys("right"))
	for name, tc := range map[string]struct{ path, header string }{
		"wrong key in the query":  {h.events() + "?session_api_key=wrong", ""},
		"empty key in the query":  {h.events() + "?session_api_key=", ""},
		"wrong key in the header": {h.events(), "wrong"},
		"query before header":     {h.events() + "?session_api_key=wrong", "right"},
		"not an id":               {"/sockets/events/notauuid", "right"},
		"traversal":               {"/sockets/events/..%2f..", "right"},
		"braces, no dashes":       {"/sockets/events/%7B" + strings.ReplaceAll(string(h.id), "-", "") + "%7D", "right"},
		"URN in capitals":         {"/sockets/session/URN:UUID:" + string(h.id), "right"},
		"blank behind the id":     {h.events() + "%20", "right"},
		"NUL":                     {"/sockets/session/%00", "right"},
		"unknown resend mode":     {h.events() + "?resend_mode=foo", "right"},
		"not a time":              {h.events() + "?resend_mode=since&after_timestamp=xx", "right"},
		"not a number":            {h.session() + "?after_seq=x", "right"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hd []string
			if tc.header != "" {
				hd = []string{rest.KeyHeader, tc.header}
			}
			_, res, err := h.try(tc.path, hd...)
			if err == nil || res == nil || res.StatusCode != http.StatusForbidden || res.ContentLength != 0 {
				t.Fatalf("got %v, %v", res, err)
			}
		})
	}
}

func TestNotASocket(t *testing.T) {
	t.Parallel()
	h := setup(t)
	res, err := http.Get("http" + strings.TrimPrefix(h.url, "ws") + h.events())
	must.Succeed(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("got %s", res.Status)
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	h := setup(t, withKeys("other", "right"))
	plainID := strings.ReplaceAll(string(h.id), "-", "")
	for name, dial := range map[string]func(t *testing.T) *client{
		"query":  func(t *testing.T) *client { return h.dial(t, h.events()+"?session_api_key=right") },
		"header": func(t *testing.T) *client { return h.dial(t, h.events(), rest.KeyHeader, "right") },
		"first frame": func(t *testing.T) *client {
			c := h.dial(t, h.events())
			c.say(auth)
			return c
		},
		"plain id": func(t *testing.T) *client {
			return h.dial(t, "/sockets/events/"+plainID, rest.KeyHeader, "right")
		},
		"upper case": func(t *testing.T) *client {
			return h.dial(t, "/sockets/events/"+strings.ToUpper(string(h.id)), rest.KeyHeader, "right")
		},
		"braces": func(t *testing.T) *client {
			return h.dial(t, "/sockets/events/%7B"+string(h.id)+"%7D", rest.KeyHeader, "right")
		},
		"URN": func(t *testing.T) *client {
			return h.dial(t, "/sockets/events/urn:uuid:"+string(h.id), rest.KeyHeader, "right")
		},
		"foreign page with the key": func(t *testing.T) *client {
			c := h.dial(t, h.events(), "Origin", "https://else.example")
			c.say(auth)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t)
			c.expect("full_state")
			c.say(auth) // ignored from here on
			c.say(`{"role":"user","content":"hi"}`)
			if m := <-h.sent; event.JoinText(m.Content) != "hi" {
				t.Errorf("got %v", m)
			}
		})
	}
}

// TestFrameWithHandshake sends the key in one packet with the handshake.
func TestFrameWithHandshake(t *testing.T) {
	t.Parallel()
	h := setup(t, withKeys("right"))
	frame := append([]byte{0x81, 0x80 | byte(len(auth)), 0, 0, 0, 0}, auth...) // masked with zeros
	b := h.bare(t, h.events(), 4096, frame...)
	var got [4]byte
	if _, err := io.ReadFull(b.r, got[:]); err != nil || got[0] != 0x81 {
		t.Errorf("got %x, %v", got, err)
	}
}

func TestFirstFrameRefused(t *testing.T) {
	t.Parallel()
	h := setup(t, withKeys("right"), func(o *socket.Options) { o.AuthTimeout = 50 * time.Millisecond })
	for name, say := range map[string]string{
		"wrong key": `{"type":"auth","session_api_key":"wrong"}`,
		"no key":    `{"type":"auth"}`,
		"number":    `{"type":"auth","session_api_key":1}`,
		"message":   `{"role":"user","content":"hi"}`,
		"no JSON":   `right`,
		"a list":    `["auth"]`,
		"null":      `null`,
		"nothing":   "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := h.dial(t, h.session())
			if say != "" {
				c.say(say)
			}
			if code, reason := c.ends(); code != 4001 || reason != "Authentication failed" {
				t.Errorf("closed with %d %q", code, reason)
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	h := setup(t, func(o *socket.Options) {
		o.Origin = func(origin string) bool { return origin == "https://ours.example" }
	})
	for origin, want := range map[string]bool{
		"http://localhost:3000": true, "http://127.0.0.1": true, "https://ours.example": true,
		"https://else.example": false, "null": false, "http://localhost.else.example": false,
	} {
		c, res, err := h.try(h.events(), "Origin", origin)
		if err == nil {
			_ = c.CloseNow()
		} else if res == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %v", origin, err)
		}
		if (err == nil) != want {
			t.Errorf("%s: admitted %v, want %v", origin, err == nil, want)
		}
	}
}

// A name that an attacker's DNS gives to this machine is not its origin.
func TestRebinding(t *testing.T) {
	t.Parallel()
	h := setup(t)
	_, res, err := websocket.Dial(context.Background(), h.url+h.events(), &websocket.DialOptions{
		Host: "evil.example:8000", HTTPHeader: http.Header{"Origin": {"http://evil.example:8000"}},
	})
	if err == nil || res == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("got %v, %v", res, err)
	}
}

func TestUnknownConversation(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, path := range []string{"/sockets/events/", "/sockets/session/"} {
		c := h.dial(t, path+string(event.NewConversationID()))
		if code, reason := c.ends(); code != 4004 || reason != "Conversation not found" {
			t.Errorf("closed with %d %q", code, reason)
		}
	}
}

func TestTooManyFollowers(t *testing.T) {
	t.Parallel()
	h := setup(t, func(o *socket.Options) { o.MaxFollowers = 1 })
	h.dial(t, h.events()).expect("full_state")
	c := h.dial(t, h.session())
	if code, reason := c.ends(); code != websocket.StatusTryAgainLater || reason != "Too many connections for this conversation" {
		t.Errorf("closed with %d %q", code, reason)
	}
}

func TestFindFails(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fault.Kind]websocket.StatusCode{
		fault.Unavailable: websocket.StatusTryAgainLater, fault.Corrupt: websocket.StatusInternalError,
		fault.Conflict: 4004, // another server works on it
	} {
		h := setup(t, func(o *socket.Options) {
			o.Find = func(context.Context, event.ConversationID) (socket.Conversation, error) {
				return nil, fault.New(kind, "no")
			}
		})
		if code, _ := h.dial(t, h.events()).ends(); code != want {
			t.Errorf("%s closes with %d, want %d", kind, code, want)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := h.dial(t, h.events())
	c.expect("full_state")
	done := make(chan struct{})
	go func() {
		h.s.Close()
		close(done)
	}()
	if code, _ := c.ends(); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", code)
	}
	<-done
	if n := h.s.Followers(h.id); n != 0 {
		t.Errorf("%d followers are left", n)
	}
}
