package socket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// talk is a conversation with a real stream and no agent.
type talk struct {
	id    event.ConversationID
	store eventstream.Stream
	sent  chan session.Message
	gone  chan struct{} // gets one whenever the last follower has left
	large string        // makes the full state larger

	mu        sync.Mutex
	watchers  map[int]func(session.Transient)
	printed   []session.Output // so far
	print     func(session.Output)
	terminals tool.PTYs
	view      io.ReadWriteCloser
	answer    session.Unfinished
	pieces    int64 // published
	made      int   // full states, numbered
	fail      error
}

func (c *talk) ID() event.ConversationID   { return c.id }
func (c *talk) Stream() eventstream.Stream { return c.store }

func (c *talk) FullState(context.Context) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state(), nil
}

// state is called with the lock held, as its result is published under it.
func (c *talk) state() json.RawMessage {
	c.made++
	b, err := event.Marshal(&event.ConversationStateUpdateEvent{
		Base: event.NewBase(event.SourceEnvironment), Key: "full_state",
		Value: json.RawMessage(fmt.Sprintf(`{"made":%d,"pad":%q}`, c.made, c.large)),
	})
	if err != nil {
		panic(err)
	}
	return b
}

func (c *talk) Watch(f func(session.Transient)) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.watchers)
	c.watchers[n] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, n)
		select {
		case c.gone <- struct{}{}:
		default:
		}
	}
}

func (c *talk) Send(_ context.Context, m session.Message) error {
	c.mu.Lock()
	err := c.fail
	c.mu.Unlock()
	if err == nil {
		c.sent <- m
	}
	return err
}

// OpenQueue implements [socket.Conversation].
func (c *talk) OpenQueue() (json.RawMessage, error) {
	ev, err := event.NewStateUpdate("queue", []session.Queued{})
	if err != nil {
		return nil, err
	}
	return event.Marshal(ev)
}

// Unfinished implements [socket.Conversation].
func (c *talk) Unfinished() *session.Unfinished {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.answer
	u.Next = c.pieces
	return &u
}

func (c *talk) publish(tr session.Transient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tr.Piece != nil {
		tr.Piece.Number = c.pieces
		c.pieces++
	}
	for _, f := range c.watchers {
		f(tr)
	}
}

// publishState publishes a full state made now.
func (c *talk) publishState(after eventstream.Seq) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw := c.state()
	for _, f := range c.watchers {
		f(session.Transient{After: after, Event: raw, FullState: true})
	}
}

// add appends messages named by number and returns the last one's place.
func (c *talk) add(tb testing.TB, names ...string) eventstream.Seq {
	tb.Helper()
	evs := make([]event.Event, len(names))
	for i, n := range names {
		evs[i] = event.NewUserMessage(n)
	}
	seq, err := c.store.Append(context.Background(), c.id, evs...)
	must.Succeed(tb, err)
	return seq
}

type fixture struct {
	*talk
	s   *socket.Service
	url string
}

// setup serves one conversation.
func setup(tb testing.TB, change ...func(*socket.Options)) *fixture {
	tb.Helper()
	store, err := sqlite.Open(context.Background(), tb.TempDir(), sqlite.Options{})
	must.Succeed(tb, err)
	c := &talk{
		id: event.NewConversationID(), store: store, sent: make(chan session.Message, 16),
		gone: make(chan struct{}, 1), watchers: map[int]func(session.Transient){},
	}
	must.Succeed(tb, store.Create(context.Background(), c.id, eventstream.Meta{}))
	o := socket.Options{
		Find: func(_ context.Context, id event.ConversationID) (socket.Conversation, error) {
			if id != c.id {
				return nil, fault.New(fault.NotFound, "no such conversation")
			}
			return c, nil
		},
		Keys: func() []string { return nil },
	}
	for _, f := range change {
		f(&o)
	}
	s := socket.New(o)
	h, err := rest.New(rest.Options{Routes: s.Routes(), Keys: o.Keys})
	must.Succeed(tb, err)
	srv := httptest.NewServer(h)
	tb.Cleanup(func() {
		s.Close()
		srv.Close()
		must.Report(tb, store.Close())
	})
	return &fixture{talk: c, s: s, url: "ws" + strings.TrimPrefix(srv.URL, "http")}
}

func withKeys(keys ...string) func(*socket.Options) {
	return func(o *socket.Options) { o.Keys = func() []string { return keys } }
}

func (h *fixture) events() string  { return "/sockets/events/" + string(h.id) }
func (h *fixture) session() string { return "/sockets/session/" + string(h.id) }

// client is the other end of a socket.
type client struct {
	tb testing.TB
	*websocket.Conn
}

func (h *fixture) dial(tb testing.TB, path string, header ...string) *client {
	tb.Helper()
	c, res, err := h.try(path, header...)
	if err != nil {
		tb.Fatalf("%s: %v (%v)", path, err, res)
	}
	tb.Cleanup(func() { _ = c.CloseNow() })
	return &client{tb, c}
}

func (h *fixture) try(path string, header ...string) (*websocket.Conn, *http.Response, error) {
	hd := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		hd.Set(header[i], header[i+1])
	}
	c, res, err := websocket.Dial(context.Background(), h.url+path, &websocket.DialOptions{HTTPHeader: hd})
	if err == nil {
		c.SetReadLimit(64 << 20)
	}
	return c, res, err
}

func (c *client) say(frame string) {
	c.tb.Helper()
	must.Succeed(c.tb, c.Write(context.Background(), websocket.MessageText, []byte(frame)))
}

// frame has the fields of any frame of any socket.
type frame struct {
	Type      string          `json:"type"`
	Seq       *int            `json:"seq"`
	FromSeq   *int            `json:"from_seq"`
	Through   *int            `json:"through_seq"`
	Event     *frame          `json:"event"`
	Item      string          `json:"item_id"`
	Attempt   int             `json:"attempt"`
	Anchor    *int            `json:"anchor_seq"`
	Order     int             `json:"order"`
	Text      string          `json:"content"`
	Reasoning string          `json:"reasoning_content"`
	Reason    string          `json:"reason"`
	Code      string          `json:"code"`
	Detail    string          `json:"detail"`
	Kind      string          `json:"kind"`
	ID        string          `json:"id"`
	At        string          `json:"timestamp"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Message   *struct {
		Content []struct{ Text string }
	} `json:"llm_message"`
	Command string `json:"command"`
}

// String shortens a frame to the part that a test wants to see.
func (f *frame) String() string {
	switch {
	case f.Type == "durable":
		return fmt.Sprintf("%d:%s", *f.Seq, f.Event)
	case f.Type == "transient":
		return "transient " + f.Event.String()
	case f.Type == "item_started":
		return fmt.Sprintf("started %s/%d", f.Item, f.Attempt)
	case f.Type == "delta":
		return fmt.Sprintf("delta %s/%d #%d %s %s", f.Item, f.Attempt, f.Order, f.Kind, f.Text)
	case f.Type == "item_aborted":
		return fmt.Sprintf("aborted %s/%d %s", f.Item, f.Attempt, f.Reason)
	case f.Type == "error", strings.HasSuffix(f.Kind, "Error"), f.Kind == "ServerErrorEvent":
		return "error " + f.Code
	case f.Type == "sync":
		return "sync " + number(f.FromSeq) + " " + number(f.Through)
	case f.Kind == "StreamingDeltaEvent":
		return "text " + f.Text + f.Reasoning
	case f.Message != nil:
		return f.Message.Content[0].Text
	case f.Key != "":
		return f.Key
	}
	return f.Kind + f.Command
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func (c *client) next() *frame {
	c.tb.Helper()
	_, b, err := c.Read(context.Background())
	must.Succeed(c.tb, err)
	f := new(frame)
	if err := json.Unmarshal(b, f); err != nil {
		c.tb.Fatalf("%v: %.200s", err, b)
	}
	return f
}

// expect reads as many frames as are wanted and compares them.
func (c *client) expect(want ...string) {
	c.tb.Helper()
	for i, w := range want {
		if got := c.next().String(); got != w {
			c.tb.Fatalf("frame %d is %q, want %q", i, got, w)
		}
	}
}

// ends reads up to the close frame and returns its code.
func (c *client) ends() (websocket.StatusCode, string) {
	c.tb.Helper()
	for {
		_, _, err := c.Read(context.Background())
		if err == nil {
			continue
		}
		var e websocket.CloseError
		if asClose(err, &e) {
			return e.Code, e.Reason
		}
		return -1, err.Error()
	}
}
