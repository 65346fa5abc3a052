package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool/mcp"
)

// byHand is a remote server whose answers are written by say, with the id and the result. Its
// tool "toggle" adds the tool "extra".
func byHand(t *testing.T, kind string, say func(id, result string) string) string {
	extra := ""
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var q request
		if r.Method != http.MethodPost || err != nil || json.Unmarshal(raw, &q) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := fine
		switch q.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"odd","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"toggle","inputSchema":{"type":"object"}}` + extra + `]}`
		case "tools/call":
			extra = `,{"name":"extra","inputSchema":{"type":"object"}}`
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, say(string(q.ID), result))
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// TestOddRemote has servers whose answers are no JSON-RPC to the letter, or have other things
// around them.
func TestOddRemote(t *testing.T) {
	t.Parallel()
	const whole, events = "application/json", "text/event-stream"
	for name, tt := range map[string]struct{ kind, form string }{
		"id as text":           {whole, `{"jsonrpc":"2.0","id":"ID","result":RESULT}`},
		"id as text, an event": {events, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":RESULT}\n\n"},
		"id at the end":        {whole, `{"jsonrpc":"2.0","result":RESULT,"id":"ID"}`},
		"no version":           {whole, `{"id":ID,"result":RESULT}`},
		"null members":         {whole, `{"jsonrpc":"2.0","id":ID,"method":null,"params":null,"error":null,"result":RESULT}`},
		"a batch":              {whole, `[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","id":ID,"result":RESULT}]`},
		"a byte order mark":    {whole, "\ufeff" + `{"jsonrpc":"2.0","id":ID,"result":RESULT}`},
		"lines":                {whole, "{\n\"jsonrpc\":\"2.0\",\n\"id\":ID,\n\"result\":RESULT\n}\n"},
		"a mark before events": {events, "\ufeffdata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":RESULT}\r\n\r\n"},
		"no messages": {events, ": hi\n\ndata: {\"level\":\"info\"}\n\ndata: {}\n\ndata: [1,2]\n\ndata: text\n\ndata: {\"id\":ID,\"result\":\"logged\"}\n\nevent: ping\ndata: 1\n\nid: 7\ndata:\n\n" +
			"id: 8\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":ID,\"result\":RESULT}\n\n"},
		"a batch of events": {events, "data: [{\"level\":1},{\"id\":ID,\"result\":RESULT}]\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := byHand(t, tt.kind, func(id, result string) string {
				return strings.NewReplacer("ID", id, "RESULT", result).Replace(tt.form)
			})
			set := connect(t, map[string]mcp.Server{"web": {URL: url, Transport: mcp.HTTP}}, mcp.Options{})
			if got := ask(t, set, "toggle", `{}`); got.IsError || !strings.HasSuffix(event.JoinText(got.Content), "fine") {
				t.Errorf("toggle: %+v", got)
			}
		})
	}
}

// TestRemoteChangeTakesEffect has a call announce another tool before its result, in one answer: it
// is there when the call has returned.
func TestRemoteChangeTakesEffect(t *testing.T) {
	t.Parallel()
	url := byHand(t, "text/event-stream", func(id, result string) string {
		change := ""
		if result == fine {
			change = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
		}
		return fmt.Sprintf("%sdata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", change, id, result)
	})
	set := connect(t, map[string]mcp.Server{"web": {URL: url, Transport: mcp.HTTP}}, mcp.Options{})
	if got := ask(t, set, "toggle", `{}`); got.IsError {
		t.Fatalf("toggle: %+v", got)
	}
	if diff := cmp.Diff("extra toggle", names(set)); diff != "" {
		t.Errorf("tools right after the call (-want +got):\n%s", diff)
	}
}
