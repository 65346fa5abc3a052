package appserver_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestRefusedStarts: what a start request asks for and the server does not do is refused,
// not passed over.
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	d := deploy(t, `{turns: []}`, options{})
	for name, c := range map[string]struct {
		request map[string]any
		status  int
		says    string
	}{
		"plugins":         {map[string]any{"plugins": []any{map[string]any{"source": "x"}}}, http.StatusUnprocessableEntity, "plugins"},
		"callbacks":       {map[string]any{"processors": []any{map[string]any{"kind": "SlackV1CallbackProcessor"}}}, http.StatusUnprocessableEntity, "SlackV1CallbackProcessor"},
		"title callback":  {map[string]any{"processors": []any{map[string]any{"kind": "SetTitleCallbackProcessor"}}}, http.StatusOK, "WORKING"},
		"agent type":      {map[string]any{"agent_type": "other"}, http.StatusUnprocessableEntity, "agent_type"},
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
