package appserver_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

// TestRefusedStarts: fields of a start request that the server cannot fulfil are refused,
// not passed over.
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	d := join(t, `{turns: []}`)
	for name, c := range map[string]struct {
		request map[string]any
		status  int
		says    string
	}{
		"plugin":          {map[string]any{"plugins": []any{map[string]any{"source": "/etc"}}}, http.StatusUnprocessableEntity, "github:owner/repo"},
		"plugin's path":   {map[string]any{"plugins": []any{map[string]any{"source": "github:a/b", "repo_path": "../x"}}}, http.StatusUnprocessableEntity, "repo_path"},
		"callbacks":       {map[string]any{"processors": []any{map[string]any{"kind": "SlackV1CallbackProcessor"}}}, http.StatusUnprocessableEntity, "SlackV1CallbackProcessor"},
		"title callback":  {map[string]any{"processors": []any{map[string]any{"kind": "SetTitleCallbackProcessor"}}}, http.StatusOK, "WORKING"},
		"agent type":      {map[string]any{"agent_type": "other"}, http.StatusUnprocessableEntity, "agent_type"},
		"content":         {map[string]any{"initial_message": map[string]any{"content": []any{map[string]any{"type": []any{nil}, "text": ""}}}}, http.StatusUnprocessableEntity, "TextContent"},
		"unknown sandbox": {map[string]any{"sandbox_id": "none"}, http.StatusNotFound, "none"},
		"unknown parent":  {map[string]any{"parent_conversation_id": "11111111-1111-4111-8111-111111111111"}, http.StatusNotFound, "11111111"},
		"no UUID":         {map[string]any{"conversation_id": "x"}, http.StatusUnprocessableEntity, "conversation_id"},
		"branch":          {map[string]any{"selected_branch": "--upload-pack=x"}, http.StatusUnprocessableEntity, "branch"},
	} {
		if status, raw := d.owner.send(t, "POST", d.url+"/api/v1/app-conversations", c.request); status != c.status || !strings.Contains(string(raw), c.says) {
			t.Errorf("%s: %d: %s", name, status, raw)
		}
	}
}

// TestErrors: what is unknown or invalid is answered with the statuses of openhands-ai 1.11.0,
// and where its page shows a text, with that.
func TestErrors(t *testing.T) {
	t.Parallel()
	d := join(t, `{turns: []}`)
	const id = "11111111-1111-4111-8111-111111111111"
	const one = "/api/v1/app-conversations/" + id
	for _, c := range []struct {
		method, path string
		body         any
		status       int
		says         string
	}{
		{"GET", "/api/v1/sandboxes?id=none", nil, 200, "[null]"},
		{"POST", "/api/v1/sandboxes/none/pause", nil, 404, "detail"},
		{"POST", "/api/v1/sandboxes/none/resume", nil, 404, "detail"},
		{"DELETE", "/api/v1/sandboxes/none", nil, 404, "detail"},
		{"GET", "/api/v1/app-conversations?ids=" + id, nil, 200, "[null]"},
		{"PATCH", one, map[string]any{"title": "x"}, 404, "detail"},
		{"PATCH", one, map[string]any{"title": 5}, 422, "title"},
		{"DELETE", one, nil, 404, `{"detail":"Conversation not found"}`},
		{"POST", one + "/send-message", text("x"), 404, "detail"},
		{"POST", one + "/switch_profile", map[string]any{"profile_name": "x"}, 404, "detail"},
		{"GET", one + "/git/changes?path=.", nil, 404, "detail"},
		{"GET", one + "/skills", nil, 404, `"error":"Conversation not found"`},
		{"GET", one + "/hooks", nil, 404, `"error":"Conversation not found"`},
		{"GET", one + "/download", nil, 404, "detail"},
		{"POST", "/api/v1/settings", map[string]any{"agent_settings": map[string]any{}}, 422, `"error":"'agent_settings' is not accepted`},
		{"POST", "/api/v1/settings", map[string]any{"agent_settings_diff": 5}, 422, `"error":`},
		{"POST", "/api/v1/settings", map[string]any{"conversation_settings_diff": map[string]any{"max_iterations": 0}}, 422, `"error":"Settings validation failed: conversation_settings.max_iterations"`},
		{"GET", "/api/v1/settings/profiles/none", nil, 404, "Profile 'none' not found"},
		{"POST", "/api/v1/settings/profiles/none/activate", nil, 404, "Profile 'none' not found"},
		{"PUT", "/api/v1/secrets/none", map[string]any{"name": "n"}, 404, "detail"},
		{"GET", "/api/v1/app-conversations/start-tasks?ids=" + id, nil, 200, "[null]"},
		{"GET", "/api/v1/users/git-info", nil, 403, "detail"},
		{"GET", "/api/v1/git/repositories/search?provider=github", nil, 403, "detail"},
		{"GET", "/api/v1/webhooks/secrets", nil, 401, `{"detail":"Unauthorized"}`},
		{"POST", "/api/v1/skills/marketplace-skills", []any{}, 200, `{"skills":[],"plugins":[],"marketplace_skills":{},"errors":[]}`},
		{"POST", "/api/v1/skills/marketplace-skills", map[string]any{}, 422, `"loc":["body"]`},
		{"POST", "/api/v1/skills/marketplace-skills", []any{map[string]any{"name": "m", "source": "file:///etc"}}, 200, `"errors":["m: plugins are named by`},
		{"GET", "/api/v1/nothing", nil, 404, `{"detail":"Not Found"}`},
	} {
		if status, raw := d.owner.send(t, c.method, d.url+c.path, c.body); status != c.status || !strings.Contains(string(raw), c.says) {
			t.Errorf("%s %s %v: %d %s, want %d with %s", c.method, c.path, c.body, status, raw, c.status, c.says)
		}
	}
}

// TestSecretsOfStarts: a secret of a start request reaches the commands of the
// conversation, and no file of the server's has its value.
func TestSecretsOfStarts(t *testing.T) {
	t.Parallel()
	script, err := llmtest.Parse([]byte(`
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "printf %s \"$MY_TOKEN\" | wc -c"}}]}
  - reply: {text: it has been counted}
`))
	must.Succeed(t, err)
	llm := llmtest.Start(t, script)
	g := guard(t, []string{"LLM_MODEL=openai/m", "LLM_API_KEY=k", "LLM_BASE_URL=" + llm.URL + "/v1"})
	g.signIn(t)
	const value = "correct-horse-battery-staple-31"
	made := startTask(t, g, `{"secrets":{"MY_TOKEN":"`+value+`"},"initial_message":{"role":"user","run":true,"content":[{"type":"text","text":"count"}]}}`, "READY")
	if events := watch(t, g, made.Conversation, "it has been counted"); !strings.Contains(events, itoa(len(value))+`\n`) && !strings.Contains(events, `"`+itoa(len(value))+`"`) {
		t.Errorf("the command did not have the secret: %.3000s", events)
	}
	err = filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		var raw []byte
		if err == nil && d.Type().IsRegular() {
			raw, err = os.ReadFile(path)
		}
		if errors.Is(err, fs.ErrNotExist) { // the server has removed it
			return nil
		}
		if bytes.Contains(raw, []byte(value)) {
			t.Errorf("%s has the value", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
