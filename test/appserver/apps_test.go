package appserver_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

// program is a server that a sandbox runs: it shows its requests, and sets
// cookies.
const program = `
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path == "/socket":
            self.send_response(101); self.send_header("Upgrade", "websocket"); self.send_header("Connection", "Upgrade")
            import hashlib, base64
            key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()); self.end_headers()
            self.wfile.write(b"\x81\x05hello"); self.wfile.flush(); self.rfile.read(1); return
        if self.path == "/old":
            self.send_response(302); self.send_header("Location", "http://" + self.headers["Host"] + "/new?x=1"); self.send_header("Content-Length", "0"); self.end_headers(); return
        body = (self.path + "\n" + str(self.headers)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "mine=1; Path=/")
        self.send_header("Set-Cookie", "tossed=1; Path=/; Domain=localhost")
        self.send_header("Set-Cookie", "deft_session=evil; Path=/")
        self.send_header("Set-Cookie", "oh_workspace_session_key=; Max-Age=0; Path=/")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 8765), H)
print("listens", flush=True)
s.serve_forever()
`

// TestApps: programs in a sandbox are listed, and reached under a host name of their own,
// which is not the App Server's: it has none of its routes, cookies or pages.
func TestApps(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal("cat >p.py <<'END'\n" + program + "END\nmkfifo said; python3 p.py >said & read line <said; echo $line")
	must.Succeed(t, err)
	script, err := llmtest.Parse([]byte("by_history: true\nturns:\n  - reply: {tool_calls: [{name: terminal, arguments: {command: " + string(raw) + "}}]}\n  - reply: {text: it listens}\n"))
	must.Succeed(t, err)
	llm := llmtest.Start(t, script)
	g := guard(t, []string{"LLM_MODEL=openai/m", "LLM_API_KEY=k", "LLM_BASE_URL=" + llm.URL + "/v1"})
	g.signIn(t)
	made := startTask(t, g, `{"title":"Serve","initial_message":{"role":"user","run":true,"content":[{"type":"text","text":"serve"}]}}`, "READY")
	events := watch(t, g, made.Conversation, "it listens")

	var list struct {
		Items []struct {
			Port int    `json:"port"`
			URL  string `json:"url"`
		} `json:"items"`
	}
	a := g.want(t, 200, "GET", "/api/v1/app-conversations/"+made.Conversation+"/apps", "")
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || len(list.Items) != 1 || list.Items[0].Port != 8765 {
		t.Fatalf("the ports: %s, %v; %.3000s", a.body, err, events)
	}
	at, err := url.Parse(list.Items[0].URL)
	if err != nil || !strings.HasSuffix(at.Hostname(), ".localhost") {
		t.Fatalf("the address: %s, %v", list.Items[0].URL, err)
	}
	app := "Host: " + at.Host

	a = g.want(t, 200, "GET", "/api/settings?x=1", "", app, "Cookie: "+g.cookie+"; own=2", "Origin: http://"+at.Host)
	if !strings.HasPrefix(a.body, "/api/settings?x=1\n") {
		t.Errorf("a path of ours is not the program's: %.300s", a.body)
	}
	_, session, _ := strings.Cut(g.cookie, "=")
	for _, not := range []string{session, "deft_session", "X-Forwarded-Host"} {
		if strings.Contains(a.body, not) {
			t.Errorf("the program is shown %s: %s", not, a.body)
		}
	}
	for _, sent := range []string{"own=2", "Host: localhost:8765", "Origin: http://localhost:8765"} {
		if !strings.Contains(a.body, sent) {
			t.Errorf("the program is not shown %s: %s", sent, a.body)
		}
	}
	if got := strings.Join(a.header.Values("Set-Cookie"), ", "); got != "mine=1; Path=/" || a.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("its answer has the cookies %q and the headers %v", got, a.header)
	}

	if a = g.want(t, 302, "GET", "/old", "", app); a.header.Get("Location") != "//"+at.Host+"/new?x=1" {
		t.Errorf("it leads to %q", a.header.Get("Location"))
	}

	// A WebSocket goes through.
	dialer := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(g.url, "http://"))
	}}}
	conn, res, err := websocket.Dial(t.Context(), "ws://"+at.Host+"/socket", &websocket.DialOptions{HTTPClient: dialer})
	must.Succeed(t, err)
	if res.Body != nil {
		defer res.Body.Close()
	}
	if _, said, err := conn.Read(t.Context()); string(said) != "hello" || err != nil {
		t.Errorf("the WebSocket says %q, %v", said, err)
	}
	conn.CloseNow()

	// The page of a program cannot act here: its origin is another one.
	for _, origin := range []string{"http://" + at.Host, "null"} {
		g.want(t, 403, "POST", "/api/v1/sandboxes", "", "Origin: "+origin)
		a = g.want(t, 200, "GET", "/api/v1/app-conversations/search", "", "Origin: "+origin)
		if a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("it may read our answers")
		}
	}

	// Nobody guesses an address, and no other port has this one's token.
	g.cookie = ""
	g.want(t, 401, "GET", "/api/v1/app-conversations/"+made.Conversation+"/apps", "")
	label, _, _ := strings.Cut(at.Hostname(), ".")
	for _, wrong := range []string{
		strings.Replace(label, "8765-", "8766-", 1), label[:len(label)-1], label[:len(label)-24] + strings.Repeat("a", 24), "8765-" + made.Conversation, "x", "a.b",
	} {
		a = g.want(t, 404, "GET", "/", "", "Host: "+wrong+".localhost")
		if !strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %v", wrong, a.header)
		}
	}
	g.want(t, 200, "GET", "/", "", "Host: "+strings.ToUpper(label)+".LOCALHOST")
}

// TestNoApps: where nothing runs, the list is empty and says why.
func TestNoApps(t *testing.T) {
	t.Parallel()
	g := guard(t, nil, "--address", "0.0.0.0:0")
	g.signIn(t)
	made := startTask(t, g, `{"title":"Nothing"}`, "READY")
	a := g.want(t, 200, "GET", "/api/v1/app-conversations/"+made.Conversation+"/apps", "")
	if !strings.Contains(a.body, `"items":[]`) || !strings.Contains(a.body, "does not run") {
		t.Errorf("without a sandbox at work: %s", a.body)
	}
	g.want(t, 404, "GET", "/api/v1/app-conversations/00000000000040008000000000000001/apps", "")
	g.want(t, 422, "GET", "/api/v1/app-conversations/x/apps", "")
}
