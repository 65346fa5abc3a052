package socketio

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Session is the server's side of one connection.
type Session interface {
	// Run sends events until ctx ends, which it does with the connection. When it
	// returns the connection is closed; an error is logged.
	Run(ctx context.Context, emit Emit) error
	// Event takes an event of the client. It answers what is wrong with it by emit.
	Event(ctx context.Context, emit Emit, name string, args []json.RawMessage)
}

// Emit sends an event with one argument, which is JSON. The error is that of a
// connection that has ended.
type Emit func(name string, arg []byte) error

// Refused is the error of Options.Connect whose text and data a client is told.
type Refused struct {
	Message string
	Data    any // JSON for connect_error's data; nil for none
}

// Error implements error.
func (e *Refused) Error() string { return e.Message }

// Options configure a Handler. Connect is required; numbers of 0 take their defaults.
type Options struct {
	// Connect makes the session of a client that has connected. A *[Refused] is told to
	// the client, any other error as an internal one, and logged.
	Connect func(r *http.Request) (Session, error)
	// MaxMessage bounds a message of a client in bytes (4 MiB).
	MaxMessage int64
	// MaxClients bounds the connections at one time (10,000).
	MaxClients int
	// PingEvery is the time between pings (25 s), PingTimeout how long a client may
	// take to answer (20 s).
	PingEvery, PingTimeout time.Duration
	// WriteTimeout is how long a client may read nothing (20 s).
	WriteTimeout time.Duration
	// ConnectTimeout is how long a client may take to connect to the namespace (45 s).
	ConnectTimeout time.Duration
	Log            *slog.Logger
}

// Handler serves connections. Close it.
type Handler struct {
	o      Options
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	clients int
	wg      sync.WaitGroup
}

// New returns a handler.
func New(o Options) *Handler {
	or(&o.MaxMessage, 4<<20)
	or(&o.MaxClients, 10_000)
	or(&o.PingEvery, 25*time.Second)
	or(&o.PingTimeout, 20*time.Second)
	or(&o.WriteTimeout, 20*time.Second)
	or(&o.ConnectTimeout, 45*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Handler{o: o}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

func or[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Close ends all connections and waits for their sessions.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.wg.Wait()
}

// The errors of a handshake, in Engine.IO's form.
var (
	errTransport = handshakeError{http.StatusBadRequest, 0, "Transport unknown: this server has the transport websocket only"}
	errRequest   = handshakeError{http.StatusBadRequest, 3, "Bad request"}
	errVersion   = handshakeError{http.StatusBadRequest, 5, "Unsupported protocol version"}
	errForbidden = handshakeError{http.StatusForbidden, 4, "Forbidden"}
	errFull      = handshakeError{http.StatusServiceUnavailable, 4, "Too many connections"}
)

type handshakeError struct {
	status  int
	code    int
	message string
}

func (e handshakeError) answer(w http.ResponseWriter) {
	body, err := json.Marshal(map[string]any{"code": e.code, "message": e.message})
	if err != nil {
		panic(err) // numbers and text encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	_, _ = w.Write(body) // the client may be gone
}

// ServeHTTP implements [http.Handler]. It returns when the connection has ended. Pages
// of other origins than the request's own host are refused.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case q.Get("EIO") != "4":
		errVersion.answer(w)
		return
	case q.Get("transport") != "websocket":
		errTransport.answer(w)
		return
	case r.Method != http.MethodGet || q.Has("sid"):
		errRequest.answer(w)
		return
	case !sameOrigin(r):
		errForbidden.answer(w)
		return
	}
	if !h.enter() {
		errFull.answer(w)
		return
	}
	defer h.leave()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // sameOrigin has checked
	if err != nil {
		return // Accept has answered
	}
	ws.SetReadLimit(h.o.MaxMessage)
	c := &conn{h: h, ws: ws, r: r}
	c.serve()
}

func (h *Handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.clients >= h.o.MaxClients {
		return false
	}
	h.clients++
	h.wg.Add(1)
	return true
}

func (h *Handler) leave() {
	h.mu.Lock()
	h.clients--
	h.mu.Unlock()
	h.wg.Done()
}

// newID returns an id of a connection.
func newID() string { return rand.Text()[:20] }

// refusal is what a client is told about an error of Options.Connect.
func (h *Handler) refusal(err error) []byte {
	refused, ok := errors.AsType[*Refused](err)
	if !ok {
		h.o.Log.Error("a Socket.IO connection failed", "err", err)
		refused = &Refused{Message: "Internal Server Error"}
	}
	body := map[string]any{"message": refused.Message}
	if refused.Data != nil {
		body["data"] = refused.Data
	}
	raw, err := json.Marshal(body)
	if err != nil {
		h.o.Log.Error("a refusal could not be encoded", "err", err)
		raw = []byte(`{"message":"Internal Server Error"}`)
	}
	return raw
}
