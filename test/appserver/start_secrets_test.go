package appserver_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestStartTasksShowNoSecrets posts a secret in each field of a start request that takes one,
// by both contracts, and reads the tasks and conversations back by every route.
func TestStartTasksShowNoSecrets(t *testing.T) {
	t.Parallel()
	d := deploy(t, lifeScript, options{})
	const hush, address = "sealed-lips", "in-the-address" // the agent's own description has addresses whole
	var tasks []task
	_, raw := d.owner.send(t, "POST", d.url+"/api/v1/app-conversations/stream-start", map[string]any{
		"title": "seen", "secrets": map[string]string{"WORD": hush}, "system_message_suffix": "shown",
		"processors": []any{map[string]any{"kind": "LoggingCallbackProcessor", "token": hush}},
		"mcp_config": map[string]any{"mcpServers": map[string]any{"a": map[string]any{"url": "http://127.0.0.1:9", "headers": map[string]string{"X": hush}}}},
		// No client decides these.
		"warm": true, "replays": true, "callback_ids": []string{"00000000000000000000000000000001"},
	})
	shown := string(raw)
	var made struct {
		ID string `json:"conversation_id"`
	}
	d.owner.do(t, "POST", d.url+"/api/conversations", map[string]any{"mcp_config": map[string]any{
		"sse_servers":   []any{map[string]any{"url": "http://127.0.0.1:9/sse?token=" + address, "api_key": hush}},
		"shttp_servers": []any{map[string]any{"url": "http://127.0.0.1:9/mcp", "api_key": hush}},
		"stdio_servers": []any{map[string]any{"name": "p", "command": "true", "env": map[string]string{"WORD": hush}}},
	}}, &made)
	if status, raw := d.owner.send(t, "POST", d.url+"/api/v1/app-conversations", map[string]any{"selected_repository": "https://me:" + hush + "@127.0.0.1/a/b"}); status != http.StatusUnprocessableEntity {
		t.Errorf("a repository with a password: %d %.300s", status, raw)
	}
	d.started(t, made.ID)
	d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/start-tasks/search", nil, &struct{ Items *[]task }{&tasks})
	if len(tasks) != 2 {
		t.Fatalf("%d start tasks", len(tasks))
	}
	for _, path := range []string{"/api/v1/app-conversations/search", "/api/conversations", "/api/v1/app-conversations/start-tasks/search"} {
		_, raw := d.owner.send(t, "GET", d.url+path, nil)
		shown += string(raw)
	}
	for _, one := range tasks {
		c := d.conversation(t, one.Conversation)
		for _, path := range []string{"/api/v1/app-conversations/start-tasks?ids=" + one.ID, "/api/v1/app-conversations?ids=" + c.ID, "/api/conversations/" + c.ID, "/api/v1/app-conversations/" + c.ID + "/callbacks"} {
			_, raw := d.owner.send(t, "GET", d.url+path, nil)
			shown += string(raw)
		}
		_, raw := (&client{http: d.owner.http, key: c.Key}).send(t, "GET", d.url+"/api/conversations/"+c.ID, nil)
		if strings.Contains(string(raw), hush) {
			t.Errorf("the agent server shows a secret: %s", raw)
		}
	}
	for _, never := range []string{hush, address, "gAAAA", `"warm"`, `"replays"`, `"callback_ids"`} {
		if i := strings.Index(shown, never); i >= 0 {
			t.Errorf("%s is shown: …%s", never, shown[max(0, i-200):min(len(shown), i+100)])
		}
	}
	if !strings.Contains(shown, `"system_message_suffix":"shown"`) || !strings.Contains(shown, `"kind":"LoggingCallbackProcessor"`) {
		t.Errorf("the requests are not shown: %.2000s", shown)
	}
}
