package socket_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/pty"
)

// Terminals implements [socket.Conversation].
func (c *talk) Terminals(context.Context) (tool.PTYs, error) { return c.terminals, nil }

func withTerminals(t *testing.T, o pty.Options, change ...func(*socket.Options)) *fixture {
	t.Helper()
	h := setup(t, change...)
	o.Dir, o.Env = t.TempDir(), []string{"PATH=/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/sh"}
	host := pty.New(o)
	t.Cleanup(func() { must.Report(t, host.Close()) })
	h.terminals = host
	return h
}

func (h *fixture) terminal() string { return "/sockets/terminal/" + string(h.id) }

// control is a text frame about a terminal.
type control struct {
	Type, Terminal, Code, Detail string
	Offset                       int64
	ExitCode                     *int `json:"exit_code"`
}

// part returns the next frame: output, or a text frame.
func (c *client) part() (out []byte, f control) {
	c.tb.Helper()
	typ, b, err := c.Read(context.Background())
	must.Succeed(c.tb, err)
	if typ == websocket.MessageBinary {
		return b, f
	}
	must.Succeed(c.tb, json.Unmarshal(b, &f))
	return nil, f
}

// opened reads the first frame.
func (c *client) opened() control {
	c.tb.Helper()
	_, f := c.part()
	if f.Type != "opened" || f.Terminal == "" {
		c.tb.Fatalf("the first frame is %+v", f)
	}
	return f
}

// outputUntil reads until the output has a text, and returns all of it.
func (c *client) outputUntil(want string) string {
	c.tb.Helper()
	var all bytes.Buffer
	for !strings.Contains(all.String(), want) {
		out, f := c.part()
		if out == nil {
			c.tb.Fatalf("frame %+v after %q, without %q", f, all.String(), want)
		}
		all.Write(out)
	}
	return all.String()
}

func (c *client) typeIn(text string) {
	c.tb.Helper()
	must.Succeed(c.tb, c.Write(context.Background(), websocket.MessageBinary, []byte(text)))
}

// closed reads up to the close frame and returns its code.
func (c *client) closed() websocket.StatusCode {
	c.tb.Helper()
	for {
		if _, _, err := c.Read(context.Background()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	h := withTerminals(t, pty.Options{})
	c := h.dial(t, h.terminal()+"?rows=31&cols=77")
	id := c.opened().Terminal
	c.typeIn("stty size\n")
	seen := c.outputUntil("31 77")
	c.say(`{"type":"resize","rows":40,"cols":90}`)
	c.typeIn("stty size\n")
	seen += c.outputUntil("40 90\r\n")

	// A page that lost its connection goes on where it was; another terminal is
	// apart from it.
	_ = c.CloseNow()
	other := h.dial(t, h.terminal())
	if again := other.opened().Terminal; again == id {
		t.Error("a second terminal is the first one")
	}
	d := h.dial(t, h.terminal()+"?terminal="+id+"&offset="+number64(len(seen)))
	if f := d.opened(); f.Terminal != id || f.Offset != int64(len(seen)) {
		t.Errorf("opened %+v, want %s at %d", f, id, len(seen))
	}
	d.typeIn("exit 3\n")
	for {
		out, f := d.part()
		if out != nil {
			if strings.Contains(string(out), "40 90") {
				t.Error("output is repeated")
			}
			continue
		}
		if f.Type != "exited" || f.ExitCode == nil || *f.ExitCode != 3 {
			t.Errorf("the end is %+v", f)
		}
		break
	}
	if code := d.closed(); code != websocket.StatusNormalClosure {
		t.Errorf("closed with %d", code)
	}
	other.say(`{"type":"close"}`)
	if code := other.closed(); code != websocket.StatusNormalClosure {
		t.Errorf("closed with %d", code)
	}
}

func number64(n int) string { return number(&n) }

// TestTerminalTakeover disconnects the page that was connected before.
func TestTerminalTakeover(t *testing.T) {
	t.Parallel()
	h := withTerminals(t, pty.Options{})
	c := h.dial(t, h.terminal())
	id := c.opened().Terminal
	d := h.dial(t, h.terminal()+"?terminal="+id)
	d.opened()
	for {
		out, f := c.part()
		if out == nil {
			if f.Type != "error" || f.Code != "conflict" {
				t.Errorf("got %+v", f)
			}
			break
		}
	}
	if code := c.closed(); code != 4004 {
		t.Errorf("closed with %d", code)
	}
	d.typeIn("echo mine-$((1+1))\n")
	d.outputUntil("mine-2")
}

// late is a connection whose every input comes too late.
type late struct{ tool.PTYConn }

func (c late) Write(b []byte) (int, error) {
	n, _ := c.PTYConn.Write(b) // it fails anyway
	return n, fault.New(fault.Unavailable, "the connection was lost")
}

type lateTerminals struct{ tool.PTYs }

func (l lateTerminals) AttachPTY(ctx context.Context, id string, offset int64) (tool.PTYConn, error) {
	c, err := l.PTYs.AttachPTY(ctx, id, offset)
	return late{c}, err
}

// TestTerminalLateInput: input for a program that has just ended is not shown as a failure
// before the program's end.
func TestTerminalLateInput(t *testing.T) {
	t.Parallel()
	h := withTerminals(t, pty.Options{})
	h.terminals = lateTerminals{h.terminals}
	c := h.dial(t, h.terminal())
	c.opened()
	c.typeIn("exit 7\n")
	for {
		if out, f := c.part(); out == nil {
			if f.Type != "exited" || f.ExitCode == nil || *f.ExitCode != 7 {
				t.Errorf("got %+v", f)
			}
			return
		}
	}
}

func TestTerminalBadInput(t *testing.T) {
	t.Parallel()
	h := withTerminals(t, pty.Options{Max: 1})
	c := h.dial(t, h.terminal())
	c.opened()
	for _, frame := range []string{
		"{", `[]`, `{"type":"dance"}`, `{"type":"resize"}`, `{"type":"resize","rows":-1,"cols":5}`, `{"type":"resize","rows":1000000,"cols":5}`,
	} {
		c.say(frame)
		for {
			out, f := c.part()
			if out == nil {
				if f.Type != "error" || f.Code != "invalid" || f.Detail == "" {
					t.Errorf("%s: got %+v", frame, f)
				}
				break
			}
		}
	}
	c.typeIn("echo on-$((1+1))\n") // it stays open
	c.outputUntil("on-2")
	for path, want := range map[string]websocket.StatusCode{
		h.terminal():                       websocket.StatusTryAgainLater, // too many
		h.terminal() + "?terminal=unknown": 4004,
	} {
		d := h.dial(t, path)
		if _, f := d.part(); f.Type != "error" {
			t.Errorf("%s: got %+v", path, f)
		}
		if code := d.closed(); code != want {
			t.Errorf("%s: closed with %d, want %d", path, code, want)
		}
	}
	for _, path := range []string{"?rows=0", "?cols=99999", "?rows=x", "?offset=-1"} {
		if _, res, err := h.try(h.terminal() + path); err == nil || res.StatusCode != 403 {
			t.Errorf("%s: %v, %v", path, res, err)
		}
	}
}

// TestTerminalKey is opened with a key, or by pages of this machine, only.
func TestTerminalKey(t *testing.T) {
	t.Parallel()
	h := withTerminals(t, pty.Options{}, withKeys("secret"))
	if _, res, err := h.try(h.terminal(), "X-Session-API-Key", "wrong"); err == nil || res.StatusCode != 403 {
		t.Errorf("wrong key: %v, %v", res, err)
	}
	c := h.dial(t, h.terminal())
	c.say(`{"type":"auth","session_api_key":"wrong"}`)
	if code := c.closed(); code != 4001 {
		t.Errorf("wrong key in a frame: closed with %d", code)
	}
	h.dial(t, h.terminal(), "X-Session-API-Key", "secret").opened()
	open := withTerminals(t, pty.Options{})
	if _, res, err := open.try(open.terminal(), "Origin", "https://evil.example"); err == nil || res.StatusCode != 403 {
		t.Errorf("foreign page: %v, %v", res, err)
	}
	if list, err := open.terminals.ListPTYs(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("a refused page opened %v, %v", list, err)
	}
}

// TestTerminalSlowReader disconnects a page that reads nothing; the terminal goes on.
func TestTerminalSlowReader(t *testing.T) {
	t.Parallel()
	h := withTerminals(t, pty.Options{}, func(o *socket.Options) { o.WriteTimeout = 100 * time.Millisecond })
	c := h.dial(t, h.terminal())
	id := c.opened().Terminal
	c.typeIn("head -c 100000000 /dev/zero | tr '\\0' x; exit 6\n")
	waittest.Until(t, "the program ends", func() bool { // nobody holds it up any more
		list, err := h.terminals.ListPTYs(t.Context())
		must.Succeed(t, err)
		code := list[0].ExitCode
		if code != nil && *code != 6 {
			t.Errorf("exit code %d", *code)
		}
		return code != nil
	})
	d := h.dial(t, h.terminal()+"?terminal="+id)
	if f := d.opened(); f.Offset < 99_000_000 {
		t.Errorf("kept from %d on", f.Offset)
	}
}

// TestTerminalRoutes list and close the terminals of pages that are gone.
func TestTerminalRoutes(t *testing.T) {
	t.Parallel()
	h := withTerminals(t, pty.Options{}, withKeys("secret"))
	c := h.dial(t, h.terminal(), "X-Session-API-Key", "secret")
	id := c.opened().Terminal
	_ = c.CloseNow()
	ask := func(method, path, key string) (int, []tool.PTY) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http"+strings.TrimPrefix(h.url, "ws")+"/api/conversations/"+path, nil)
		must.Succeed(t, err)
		req.Header.Set("X-Session-API-Key", key)
		resp, err := http.DefaultClient.Do(req)
		must.Succeed(t, err)
		defer resp.Body.Close()
		var list []tool.PTY
		if method == http.MethodGet && resp.StatusCode == http.StatusOK {
			must.Succeed(t, json.NewDecoder(resp.Body).Decode(&list))
		}
		return resp.StatusCode, list
	}
	all := string(h.id) + "/terminals"
	if status, list := ask("GET", all, "secret"); status != 200 || len(list) != 1 || list[0].ID != id {
		t.Errorf("list: %d, %v", status, list)
	}
	other := "11111111-2222-4333-8444-555555555555/terminals"
	for _, tt := range []struct {
		method, path, key string
		want              int
	}{
		{"GET", all, "wrong", 401}, {"DELETE", all + "/" + id, "wrong", 401}, {"GET", other, "secret", 404},
		{"DELETE", all + "/unknown", "secret", 404}, {"DELETE", all + "/" + id, "secret", 200}, {"DELETE", all + "/" + id, "secret", 404},
	} {
		if status, _ := ask(tt.method, tt.path, tt.key); status != tt.want {
			t.Errorf("%s %s with %s: %d, want %d", tt.method, tt.path, tt.key, status, tt.want)
		}
	}
	if status, list := ask("GET", all, "secret"); status != 200 || len(list) != 0 {
		t.Errorf("list: %d, %v", status, list)
	}
}
