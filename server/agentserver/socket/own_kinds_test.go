package socket_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
)

// ownAction is an action that OpenHands' clients do not know.
type ownAction struct {
	event.ActionBase
	Word string `json:"word"`
}

func (*ownAction) Kind() string { return "SocketTestAction" }

func init() { event.RegisterAction[ownAction]() }

// TestOwnKinds: a client gets the kinds of Deft's own tools only if it asks for them, of the
// history and of new events, and in both kinds of sockets.
func TestOwnKinds(t *testing.T) {
	t.Parallel()
	h := setup(t)
	add := func(word string) {
		e := &event.ActionEvent{Base: event.NewBase(event.SourceAgent), ToolName: "own", ToolCallID: word, Action: &ownAction{Word: word}}
		_, err := h.store.Append(t.Context(), h.id, e)
		must.Succeed(t, err)
	}
	add("old")
	clients := map[*client]bool{
		h.dial(t, h.events()+"?resend_mode=all"):                false,
		h.dial(t, h.events()+"?resend_mode=all&own_kinds=true"): true,
		h.dial(t, h.session()+"?after_seq=-1"):                  false,
		h.dial(t, h.session()+"?after_seq=-1&own_kinds=true"):   true,
	}
	for c, own := range clients {
		if got := c.action(); strings.Contains(got, `{"word":"old","kind":"SocketTestAction"}`) != own || strings.Contains(got, `{"data":{"word":"old"},"kind":"MCPToolAction"}`) == own {
			t.Errorf("own_kinds %t: %s", own, got)
		}
	}
	add("new")
	for c, own := range clients {
		if got := c.action(); strings.Contains(got, `{"word":"new","kind":"SocketTestAction"}`) != own || strings.Contains(got, `{"data":{"word":"new"},"kind":"MCPToolAction"}`) == own {
			t.Errorf("own_kinds %t: %s", own, got)
		}
	}
}

// action returns the next frame with an action.
func (c *client) action() string {
	c.tb.Helper()
	for {
		_, b, err := c.Read(c.tb.Context())
		must.Succeed(c.tb, err)
		if strings.Contains(string(b), `"ActionEvent"`) {
			return string(b)
		}
	}
}
