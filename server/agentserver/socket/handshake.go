package socket

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/server/rest"
	clientview "github.com/deft-dev/deft/server/view"
)

// style is the protocol of a socket.
type style uint8

const (
	plain    style = iota // events
	envelope              // events in envelopes
	shell                 // events of shell commands
	terminal              // a pseudo terminal
	output                // output of running actions
	view                  // the live view of a browser
)

// plan is a client's request in its handshake.
type plan struct {
	style style
	id    event.ConversationID
	// all requests the whole history, since the events from a time on, after
	// those after a sequence number of the wire.
	all      bool
	since    event.Timestamp
	after    *int
	answers  bool // ours: unfinished answers, from their beginning on
	terminal terminalPlan
	// known is set when the client has sent a key, or needs none.
	known bool
	own   bool // ours: events as they are stored, see [view.Event]
}

func (s *Service) events(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	p := plan{style: plain, answers: q.Bool("answers", false), own: q.Bool(clientview.OwnKinds, false)}
	mode := q.Enum("resend_mode", "", "all", "since")
	all := q.Bool("resend_all", false)
	at, ok := q.Time("after_timestamp", time.Local)
	p.all = mode == "all" || mode == "" && all
	if mode == "since" && ok {
		p.since = event.At(at)
	}
	return s.open(w, r, q, p)
}

func (s *Service) session(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	p := plan{style: envelope, own: q.Bool(clientview.OwnKinds, false)}
	if q.Has("after_seq") {
		n := q.Int("after_seq", 0, math.MinInt, math.MaxInt)
		p.after = &n
	}
	return s.open(w, r, q, p)
}

func (s *Service) shell(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	p := plan{style: shell}
	mode := q.Enum("resend_mode", "", "all")
	p.all = q.Bool("resend_all", false) || mode == "all"
	return s.open(w, r, q, p)
}

// open answers a handshake. A refused one gets a bare 403, which the reference's
// HTTP server sends when a socket is closed before it is accepted.
func (s *Service) open(w http.ResponseWriter, r *http.Request, q *rest.Query, p plan) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return rest.Fail(http.StatusNotFound, "Not Found") // the route is not an HTTP route
	}
	ok := q.Err() == nil
	if p.style != shell {
		hex, err := rest.PathUUID(r, "conversation_id")
		p.id, _ = event.ParseConversationID(hex) // 32 digits
		ok = ok && err == nil
	}
	if p.known, ok = s.admit(r, q, ok); !ok {
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusForbidden)
		return nil
	}
	l, err := upgrade(w, r, s.o.WriteTimeout)
	if err != nil {
		return nil //nolint:nilerr // upgrade has answered
	}
	s.start(l, p)
	return nil
}

// admit checks the key in the query or the header. Without keys, pages of other
// origins are refused: a browser lets any page open a socket.
func (s *Service) admit(r *http.Request, q *rest.Query, ok bool) (known, admitted bool) {
	keys := s.o.Keys()
	if len(keys) == 0 {
		origin := r.Header.Get("Origin")
		return true, ok && (origin == "" || rest.LocalOrigin(origin) || s.o.Origin != nil && s.o.Origin(origin))
	}
	switch {
	case q.Has("session_api_key"):
		known = rest.Allowed(keys, q.String("session_api_key", ""))
	case len(r.Header.Values(rest.KeyHeader)) > 0:
		known = rest.Allowed(keys, r.Header.Get(rest.KeyHeader))
	default:
		return false, ok // the first frame has it
	}
	return known, ok && known
}

// maxAuth bounds the frame with the key.
const maxAuth = 64 << 10

// authenticate reads the key from the first frame.
func (s *Service) authenticate(l *link) bool {
	if l.SetReadDeadline(time.Now().Add(s.o.AuthTimeout)) != nil {
		return false
	}
	l.ws.SetReadLimit(maxAuth)
	typ, b, err := l.ws.Read(context.Background()) // ends with the deadline
	if err != nil || typ != websocket.MessageText {
		return false
	}
	var m map[string]any
	if json.Unmarshal(b, &m) != nil || m["type"] != "auth" {
		return false
	}
	key, _ := m["session_api_key"].(string)
	return rest.Allowed(s.o.Keys(), key) && l.SetReadDeadline(time.Time{}) == nil
}

// isAuth reports whether a frame is a repeated authentication, which is ignored.
func isAuth(b []byte) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(b, &m) != nil || string(m["type"]) != `"auth"` {
		return false
	}
	_, key := m["session_api_key"]
	return len(m) == 1 || len(m) == 2 && key
}

// from returns the first stored event that a client gets, of a conversation with
// last events.
func (p *plan) from(last eventstream.Seq) eventstream.Seq {
	switch {
	case p.all, p.since != "":
		return 1
	case p.after != nil:
		n := min(max(int64(*p.after), -1), int64(last)-1)
		return eventstream.Seq(n) + 2
	}
	return last + 1
}
