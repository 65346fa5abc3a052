package appserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// frames returns what reads frames of a conversation's events up to one that contains a text.
func (c *v0) frames(query string, header http.Header) func(until string) (all string) {
	c.t.Helper()
	conn, res, err := websocket.Dial(c.t.Context(), "ws"+strings.TrimPrefix(c.server, "http")+"/sockets/events/"+c.id+query, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		c.t.Fatal(err)
	}
	if res.Body != nil {
		c.t.Cleanup(func() { _ = res.Body.Close() })
	}
	c.t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(32 << 20)
	return func(until string) (all string) {
		c.t.Helper()
		for {
			_, raw, err := conn.Read(c.t.Context())
			if err != nil {
				c.t.Fatalf("no frame has %s: %v: %.3000s", until, err, all)
			}
			all += string(raw) + "\n"
			if strings.Contains(string(raw), until) {
				return all
			}
		}
	}
}

// TestFormerPage does what the web UI 0.62 does with its V1 flag on: its socket has the
// events of its time, its requests for changes wait for the command, and its stop button
// stops it. Other clients of the conversation see today's events.
func TestFormerPage(t *testing.T) {
	t.Parallel()
	s, c := v0Server(t)
	var tasks []struct {
		ID string `json:"app_conversation_id"`
	}
	c.call(http.StatusOK, "POST", "/api/v1/app-conversations/stream-start", map[string]any{"initial_message": map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": "set it up"}}, "run": true,
	}}, &tasks)
	c.id = tasks[len(tasks)-1].ID
	var shown v0Conversation
	c.call(http.StatusOK, "GET", "", nil, &shown)
	if shown.Version != "V1" || shown.Key == nil {
		t.Fatalf("got %+v", shown)
	}
	page := http.Header{"Origin": {s.url}}
	key := http.Header{"Origin": {s.url}, "X-Session-Api-Key": {*shown.Key}}
	former := c.frames("?resend_all=true&session_api_key="+*shown.Key, page)
	today := map[string]func(string) string{
		"resend_mode":     c.frames("?resend_mode=all&session_api_key="+*shown.Key, page),
		"no page":         c.frames("?resend_all=true&session_api_key="+*shown.Key, nil),
		"another's page":  c.frames("?resend_all=true&session_api_key="+*shown.Key, http.Header{"Origin": {"http://other.example"}}),
		"key in a header": c.frames("?resend_all=true", key),
	}
	for _, part := range []string{`"ExecuteBashAction"`, `"ExecuteBashObservation"`, "it is set up"} {
		if all := former(part); strings.Contains(all, `"kind":"TerminalAction"`) || strings.Contains(all, `"StreamingDeltaEvent"`) {
			t.Errorf("the page of 0.62 gets %s", all)
		}
	}
	// Web UIs after 0.62 ask in the same way: what they read is there as well.
	for frame := range strings.Lines(c.frames("?resend_all=true&session_api_key="+*shown.Key, page)(`"ExecuteBashObservation"`)) {
		var ev struct {
			Observation struct {
				Output  *string
				Content []struct{ Text string }
			}
		}
		if !strings.Contains(frame, `"ExecuteBashObservation"`) {
			continue
		}
		if err := json.Unmarshal([]byte(frame), &ev); err != nil || ev.Observation.Output == nil || len(ev.Observation.Content) == 0 {
			t.Errorf("a later page gets %s: %v", frame, err)
		}
	}
	for name, read := range today {
		if all := read("it is set up"); strings.Contains(all, "ExecuteBash") || !strings.Contains(all, `"TerminalObservation"`) {
			t.Errorf("%s: got %s", name, all)
		}
	}

	// It asks for changes when the action begins.
	c.call(http.StatusOK, "POST", "/api/v1/app-conversations/"+c.id+"/send-message", map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": "change it"}}, "run": true,
	}, nil)
	former(`"ExecuteBashAction"`)
	var changes []struct{ Path, Status string }
	raw := c.call(http.StatusOK, "GET", "/api/git/changes/%2Fworkspace%2Fproject", nil, key)
	if err := json.Unmarshal(raw, &changes); err != nil || !strings.Contains(string(raw), "late.txt") {
		t.Errorf("got the changes %s: %v", raw, err)
	}
	former("it is changed")

	// Its pause stops the command that runs; that of others would wait for it.
	c.call(http.StatusOK, "POST", "/api/v1/app-conversations/"+c.id+"/send-message", map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": "work for long"}}, "run": true,
	}, nil)
	former(`"ExecuteBashAction"`)
	c.call(http.StatusOK, "POST", "pause", map[string]any{}, key.Clone())
	if all := former(`"paused"`); !strings.Contains(all, `"PauseEvent"`) {
		t.Errorf("got %s", all)
	}
	if all := today["resend_mode"](`"paused"`); !strings.Contains(all, `"InterruptEvent"`) {
		t.Errorf("the command was not stopped: %s", all)
	}
}
