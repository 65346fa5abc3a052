package appserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// v0Event is an event, or a status update, as a client of Socket.IO gets it.
type v0Event struct {
	ID          *int64          `json:"id"`
	Source      string          `json:"source"`
	Message     string          `json:"message"`
	Cause       *int64          `json:"cause"`
	Action      string          `json:"action"`
	Observation string          `json:"observation"`
	Args        map[string]any  `json:"args"`
	Content     string          `json:"content"`
	Extras      map[string]any  `json:"extras"`
	Update      bool            `json:"status_update"`
	Type        string          `json:"type"`
	Title       string          `json:"conversation_title"`
	Metrics     json.RawMessage `json:"llm_metrics"`
}

// UnmarshalJSON takes the ids of status updates, which are texts, for none.
func (e *v0Event) UnmarshalJSON(raw []byte) error {
	type plain v0Event
	var in struct {
		*plain
		ID any `json:"id"`
	}
	in.plain = (*plain)(e)
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	if n, ok := in.ID.(float64); ok {
		id := int64(n)
		e.ID = &id
	}
	return nil
}

// String says in a word or two what an event is.
func (e v0Event) String() string {
	switch {
	case e.Update && e.Title != "":
		return "title " + e.Title
	case e.Update:
		return "status " + e.Type
	case e.Observation == "agent_state_changed":
		state, _ := e.Extras["agent_state"].(string)
		return "state " + state
	case e.Action == "message":
		return e.Source + " says " + e.Message
	}
	return e.Action + e.Observation
}

// awaited is within what time something comes.
const awaited = 3 * time.Minute

// sioClient is a client of Socket.IO.
type sioClient struct {
	t      *testing.T
	ws     *websocket.Conn
	latest int64 // id of the newest event
	got    []string
}

// dial opens a socket as a page of an origin, "" for a program, or returns the status of
// the refusal.
func (c *client) dial(t *testing.T, server, origin string, query url.Values) (*sioClient, int) {
	t.Helper()
	query.Set("EIO", "4")
	query.Set("transport", "websocket")
	head := http.Header{}
	if origin != "" {
		head.Set("Origin", origin)
	}
	ctx, cancel := context.WithTimeout(t.Context(), awaited)
	defer cancel()
	ws, answer, err := websocket.Dial(ctx, server+"/socket.io/?"+query.Encode(), &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: head})
	if err != nil {
		if answer == nil {
			t.Fatal(err)
		}
		return nil, answer.StatusCode
	}
	ws.SetReadLimit(8 << 20)
	s := &sioClient{t: t, ws: ws, latest: -1}
	t.Cleanup(func() { _ = ws.CloseNow() })
	if got := s.frame(); !strings.HasPrefix(got, "0{") {
		t.Fatalf("the handshake is %s", got)
	}
	s.write("40")
	return s, http.StatusSwitchingProtocols
}

// join follows a conversation from an event on.
func (c *client) join(t *testing.T, server, id, latest string) *sioClient {
	t.Helper()
	s, status := c.dial(t, server, server, url.Values{"conversation_id": {id}, "latest_event_id": {latest}})
	if s == nil {
		t.Fatalf("the socket is refused with %d", status)
	}
	if got := s.frame(); !strings.HasPrefix(got, "40{") {
		t.Fatalf("the namespace is %s", got)
	}
	return s
}

func (s *sioClient) write(frame string) {
	s.t.Helper()
	if err := s.ws.Write(s.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		s.t.Fatal(err)
	}
}

// frame returns the next frame that is no ping.
func (s *sioClient) frame() string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), awaited)
	defer cancel()
	for {
		_, raw, err := s.ws.Read(ctx)
		if err != nil {
			s.t.Fatalf("after %q: %v", s.got, err)
		}
		if string(raw) != "2" {
			return string(raw)
		}
		s.write("3")
	}
}

// next returns the next event. Ids rise.
func (s *sioClient) next() v0Event {
	s.t.Helper()
	text, ok := strings.CutPrefix(s.frame(), "42")
	var packet []json.RawMessage
	var e v0Event
	if !ok || json.Unmarshal([]byte(text), &packet) != nil || len(packet) != 2 || string(packet[0]) != `"oh_event"` {
		s.t.Fatalf("the packet is %q", text)
	}
	if err := json.Unmarshal(packet[1], &e); err != nil {
		s.t.Fatalf("%s: %v", packet[1], err)
	}
	if e.Update && (e.Source != "") != (e.Type == "error") {
		s.t.Errorf("with a source %q the page takes %s for what it is not", e.Source, e)
	}
	if e.ID != nil {
		if *e.ID <= s.latest && *e.ID >= 0 { // the state of a conversation without events has -1
			s.t.Errorf("the event %s has the id %d after %d", e, *e.ID, s.latest)
		}
		s.latest = *e.ID
	}
	return e
}

// until returns what comes until an event that is described so, with it; titles and
// progress of the start are left out.
func (s *sioClient) until(last string) (all []v0Event) {
	s.t.Helper()
	for {
		e := s.next()
		s.got = append(s.got, e.String())
		if text := e.String(); text != "status info" && !strings.HasPrefix(text, "title ") {
			all = append(all, e)
			if text == last {
				return all
			}
		}
	}
}

// act sends what a user does.
func (s *sioClient) act(action string, args map[string]any) {
	s.t.Helper()
	raw, err := json.Marshal([]any{"oh_user_action", map[string]any{"action": action, "args": args}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("42" + string(raw))
}

func (s *sioClient) say(text string) { s.act("message", map[string]any{"content": text}) }

func (s *sioClient) state(to string) {
	s.act("change_agent_state", map[string]any{"agent_state": to})
}

// words describes events.
func words(all []v0Event) (out []string) {
	for _, e := range all {
		out = append(out, e.String())
	}
	return out
}
