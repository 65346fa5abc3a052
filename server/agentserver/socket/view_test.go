package socket_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// View implements [socket.Conversation].
func (c *talk) View(context.Context) (io.ReadWriteCloser, error) {
	if c.view == nil {
		return nil, fault.New(fault.NotFound, "no browser is open")
	}
	return c.view, nil
}

func (h *fixture) viewPath() string { return "/sockets/view/" + string(h.id) }

// TestView passes text frames on as lines, and lines as text frames. A browser that ends closes
// the socket, and a person who leaves ends the view.
func TestView(t *testing.T) {
	t.Parallel()
	h := setup(t)
	browser, view := net.Pipe()
	h.view = view
	c := h.dial(t, h.viewPath())
	c.say(`{"type":"click"}`)
	got := make([]byte, 64)
	n, err := io.ReadFull(browser, got[:len(`{"type":"click"}`)+1])
	if must.Succeed(t, err); string(got[:n]) != "{\"type\":\"click\"}\n" {
		t.Errorf("the browser got %q", got[:n])
	}
	_, err = io.WriteString(browser, "{\"frame\":1}\n{\"frame\":2}\n")
	must.Succeed(t, err)
	for _, want := range []string{`{"frame":1}`, `{"frame":2}`} {
		if _, raw, err := c.Read(t.Context()); err != nil || string(raw) != want {
			t.Errorf("%s, %v", raw, err)
		}
	}
	must.Succeed(t, browser.Close())
	if code := c.closed(); code != websocket.StatusNormalClosure {
		t.Errorf("closed with %d", code)
	}

	browser, h.view = net.Pipe()
	c = h.dial(t, h.viewPath())
	must.Succeed(t, c.CloseNow())
	if n, err := browser.Read(got); err == nil {
		t.Errorf("%d bytes after the person has left", n)
	}
}

// TestNoView says that nothing is open.
func TestNoView(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := h.dial(t, h.viewPath())
	if out, f := c.part(); out != nil || f.Type != "error" || f.Code != "not_found" {
		t.Errorf("%q %+v", out, f)
	}
	if code := c.closed(); code != 4004 {
		t.Errorf("closed with %d", code)
	}
}
