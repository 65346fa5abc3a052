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
		"plugins":         {map[string]any{"plugins": []any{map[string]any{"source": "x"}}}, http.StatusUnprocessableEntity, "plugins"},
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
	must(t, err)
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
