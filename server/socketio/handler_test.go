package socketio_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/server/socketio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo sends each event back, and begins with a greeting.
type echo struct {
	run  func(ctx context.Context, emit socketio.Emit) error
	done chan struct{}
}

func (e *echo) Run(ctx context.Context, emit socketio.Emit) error {
	defer close(e.done)
	if e.run != nil {
		return e.run(ctx, emit)
	}
	if err := emit("first", []byte(`{"n":1}`)); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (e *echo) Event(_ context.Context, emit socketio.Emit, name string, args []json.RawMessage) {
	raw := []byte("null")
	if len(args) > 0 {
		raw = args[0]
	}
	_ = emit("echo "+name, raw) // a client that is gone ends the connection
}

type server struct {
	*httptest.Server
	h        *socketio.Handler
	sessions chan *echo
}

func start(t *testing.T, o socketio.Options, run func(context.Context, socketio.Emit) error) *server {
	t.Helper()
	s := &server{sessions: make(chan *echo, 10)}
	if o.Connect == nil {
		o.Connect = func(*http.Request) (socketio.Session, error) {
			e := &echo{run: run, done: make(chan struct{})}
			s.sessions <- e
			return e, nil
		}
	}
	s.h = socketio.New(o)
	s.Server = httptest.NewServer(s.h)
	t.Cleanup(func() {
		s.h.Close()
		s.Server.Close()
	})
	return s
}

type client struct {
	t  *testing.T
	ws *websocket.Conn
}

func (s *server) dial(t *testing.T) *client {
	t.Helper()
	ws, resp, err := websocket.Dial(t.Context(), s.URL+"/socket.io/?EIO=4&transport=websocket", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	ws.SetReadLimit(-1)
	t.Cleanup(func() { _ = ws.CloseNow() })
	c := &client{t, ws}
	if hello := c.read(); !strings.HasPrefix(hello, `0{`) || !strings.Contains(hello, `"upgrades":[]`) {
		t.Fatalf("hello %s", hello)
	}
	return c
}

func (c *client) read() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	_, b, err := c.ws.Read(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

func (c *client) write(text string) {
	c.t.Helper()
	if err := c.ws.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) connect() {
	c.t.Helper()
	c.write("40")
	if got := c.read(); !strings.HasPrefix(got, `40{"sid":"`) {
		c.t.Fatalf("connected with %s", got)
	}
}

// closed reads until the connection ends, and returns the code.
func (c *client) closed() websocket.StatusCode {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	for {
		if _, _, err := c.ws.Read(ctx); err != nil {
			if ctx.Err() != nil {
				c.t.Fatal("the connection stays open")
			}
			return websocket.CloseStatus(err)
		}
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	s := start(t, socketio.Options{}, nil)
	c := s.dial(t)
	c.write("40/admin,")
	if got := c.read(); got != `44/admin,{"message":"Invalid namespace"}` {
		t.Errorf("got %s", got)
	}
	c.connect()
	if got := c.read(); got != `42["first",{"n":1}]` {
		t.Errorf("got %s", got)
	}
	c.write(`427["hi",{"a":"é"}]`)
	if got := c.read(); got != `42["echo hi",{"a":"é"}]` {
		t.Errorf("got %s", got)
	}
	if got := c.read(); got != `437[]` {
		t.Errorf("acknowledged by %s", got)
	}
	c.write("41")
	if code := c.closed(); code != websocket.StatusNormalClosure {
		t.Errorf("closed with %d", code)
	}
	<-(<-s.sessions).done
}

func TestPing(t *testing.T) {
	t.Parallel()
	c := start(t, socketio.Options{PingEvery: 5 * time.Millisecond, PingTimeout: time.Minute}, nil).dial(t)
	c.connect()
	c.read()
	for range 10 {
		if got := c.read(); got != "2" {
			t.Fatalf("got %s", got)
		}
		c.write("3")
	}
	c = start(t, socketio.Options{PingEvery: 5 * time.Millisecond, PingTimeout: 50 * time.Millisecond}, nil).dial(t)
	if code := c.closed(); code != websocket.StatusGoingAway {
		t.Errorf("a client that does not answer is closed with %d", code)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	var err atomic.Value
	s := start(t, socketio.Options{Connect: func(*http.Request) (socketio.Session, error) { return nil, err.Load().(error) }}, nil)
	err.Store(errors.Join(&socketio.Refused{Message: "no such conversation", Data: map[string]string{"msg_id": "X"}}))
	c := s.dial(t)
	c.write("40")
	if got := c.read(); got != `44{"data":{"msg_id":"X"},"message":"no such conversation"}` {
		t.Errorf("got %s", got)
	}
	c.closed()
	err.Store(errors.Join(errors.New("the path of a secret file")))
	c = s.dial(t)
	c.write("40")
	if got := c.read(); got != `44{"message":"Internal Server Error"}` {
		t.Errorf("got %s", got)
	}
	c.closed()
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	s := start(t, socketio.Options{}, nil)
	for _, c := range []struct {
		query, origin string
		status        int
	}{
		{"EIO=4&transport=polling", "", 400},
		{"EIO=3&transport=websocket", "", 400},
		{"EIO=4&transport=websocket&sid=x", "", 400},
		{"EIO=4&transport=websocket", "http://evil.example", 403},
		{"EIO=4&transport=websocket", "null", 403},
		{"EIO=4&transport=websocket", "", 426},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/socket.io/?"+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s of %q: %d", c.query, c.origin, resp.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestBadFrames(t *testing.T) {
	t.Parallel()
	s := start(t, socketio.Options{MaxMessage: 1000}, nil)
	for name, frame := range map[string]string{
		"empty": "", "no packet": "x", "event first": `42["a"]`, "broken": `42["a"`, "binary": `451-["a",{"_placeholder":true,"num":0}]`,
		"no name": `42[5]`, "no list": `42{}`, "acknowledgement": `431[]`, "other namespace": `42/x,["a"]`, "too large": `42["a","` + strings.Repeat("x", 2000) + `"]`,
	} {
		c := s.dial(t)
		want := websocket.StatusPolicyViolation
		if name != "event first" {
			c.connect()
			<-s.sessions
		}
		if name == "too large" {
			want = websocket.StatusMessageTooBig
		}
		if err := c.ws.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		if code := c.closed(); code != want {
			t.Errorf("%s: closed with %d", name, code)
		}
	}
}

func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	s := start(t, socketio.Options{ConnectTimeout: 50 * time.Millisecond}, nil)
	if code := s.dial(t).closed(); code != websocket.StatusPolicyViolation {
		t.Errorf("closed with %d", code)
	}
}

// A client that reads nothing is disconnected, and holds nothing meanwhile but the frame
// that is being written.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	arg := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	var sent atomic.Int64
	s := start(t, socketio.Options{WriteTimeout: 300 * time.Millisecond}, func(_ context.Context, emit socketio.Emit) error {
		for {
			if err := emit("much", arg); err != nil {
				return err
			}
			sent.Add(1)
		}
	})
	c := s.dial(t)
	c.connect()
	e := <-s.sessions
	<-e.done
	if n := sent.Load(); n > 64 {
		t.Errorf("%d MiB were taken for a client that reads nothing", n)
	}
}

func TestEndOfSession(t *testing.T) {
	t.Parallel()
	s := start(t, socketio.Options{}, func(context.Context, socketio.Emit) error { return nil })
	c := s.dial(t)
	c.connect()
	if got := c.read(); got != "41" {
		t.Errorf("got %s", got)
	}
	c.closed()
}

// A server that stops does not tell its clients to stay away.
func TestClose(t *testing.T) {
	t.Parallel()
	s := start(t, socketio.Options{}, nil)
	c := s.dial(t)
	c.connect()
	c.read()
	go s.h.Close()
	if code := c.closed(); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", code)
	}
	<-(<-s.sessions).done
}

func TestMaxClients(t *testing.T) {
	t.Parallel()
	s := start(t, socketio.Options{MaxClients: 1}, nil)
	s.dial(t)
	_, resp, err := websocket.Dial(t.Context(), s.URL+"/socket.io/?EIO=4&transport=websocket", nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the second client: %v %v", resp, err)
	}
}
