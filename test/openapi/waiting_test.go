package openapi_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// ask sends a request with a header and returns the status.
func ask(t *testing.T, method, url, body, header, value string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must.Succeed(t, err)
	r.Header.Set(header, value)
	if strings.Contains(url, "/sockets/") {
		for name, v := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
		} {
			r.Header.Set(name, v)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	must.Succeed(t, resp.Body.Close())
	return resp.StatusCode
}

// TestWaiting wakes a server of a pool.
func TestWaiting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := server(t, "OH_SESSION_API_KEYS_0=", "OH_DEFERRED_INIT=1", "OH_SECRET_KEY=pool")
	const session = "X-Session-API-Key"
	expect := func(want int, method, path, body, header, value string) {
		t.Helper()
		if got := ask(t, method, url+path, body, header, value); got != want {
			t.Errorf("%s %s: %d, want %d", method, path, got, want)
		}
	}
	for path, want := range map[string]int{
		"/health": 200, "/alive": 200, "/ready": 200, "/server_info": 200, "/openapi.json": 200, "/api/init": 200, "/api/settings": 503,
		"/v1/models": 503, "/sockets/bash-events": 503, "/sockets/events/11111111-1111-1111-1111-111111111111": 503,
	} {
		expect(want, "GET", path, "", session, "k")
	}
	body := `{"session_api_keys": ["k"], "conversations_path": "` + filepath.Join(dir, "c") + `", "bash_events_dir": "` + filepath.Join(dir, "b") +
		`", "env": {"FROM_POOL": "yes"}}`
	expect(401, "POST", "/api/init", body, "X-Init-API-Key", "wrong")
	expect(200, "POST", "/api/init", body, "X-Init-API-Key", "pool")
	expect(400, "POST", "/api/init", body, "X-Init-API-Key", "pool")
	for path, want := range map[string]int{"/ready": 200, "/api/settings": 200, "/v1/models": 200, "/api/conversations/search": 200} {
		expect(want, "GET", path, "", session, "k")
	}
	expect(401, "GET", "/api/settings", "", session, "pool")
	expect(101, "GET", "/sockets/bash-events", "", session, "k")
	var out struct {
		Stdout string `json:"stdout"`
	}
	doAs(t, "k", "POST", url+"/api/bash/execute_bash_command", map[string]any{"command": "echo $FROM_POOL"}, &out)
	if strings.TrimSpace(out.Stdout) != "yes" {
		t.Errorf("a command has FROM_POOL=%q", out.Stdout)
	}
}
