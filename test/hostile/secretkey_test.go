package hostile_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/test/binary"
)

// TestAnotherSecretKey stores secrets under one key and uses them under another:
// routes that need them answer 503 and name the remedy, instead of working without
// them. Routes that show the rest keep working.
func TestAnotherSecretKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	type object = map[string]any
	conversation := func(more object) object {
		more["workspace"] = object{"working_dir": filepath.Join(dir, "work")}
		return more
	}
	t.Run("stored", func(t *testing.T) {
		v := &victim{url: binary.ServeIn(t, dir, nil, "OH_SECRET_KEY=the first key").URL}
		for _, c := range []struct {
			method, path string
			body         object
		}{
			{"POST", "/api/profiles/p", object{"llm": object{"model": "openai/x", "api_key": "sk-1"}, "include_secrets": true}},
			{"POST", "/api/profiles/open", object{"llm": object{"model": "openai/x"}}},
			{"POST", "/api/agent-profiles/a", object{"llm_profile_ref": "p", "mcp_server_refs": []string{}}},
			{"POST", "/api/agent-profiles/m", object{"llm_profile_ref": "open", "mcp_server_refs": []string{"s"}}},
			{"PUT", "/api/settings/secrets", object{"name": "TOKEN", "value": "sk-2"}},
			{"POST", "/api/settings/mcp/s", object{"url": "http://127.0.0.1:9/mcp", "headers": object{"Authorization": "Bearer sk-3"}}},
		} {
			if status, answer := v.do(t, c.method, c.path, c.body); status/100 != 2 {
				t.Fatalf("%s %s: %d %s", c.method, c.path, status, answer)
			}
		}
	})
	v := &victim{url: binary.ServeIn(t, dir, nil, "OH_SECRET_KEY=the second key").URL}
	id := func(name string) string {
		status, answer := v.do(t, "GET", "/api/agent-profiles/"+name, nil)
		var got struct{ Profile struct{ ID string } }
		if err := json.Unmarshal(answer, &got); err != nil || status != http.StatusOK {
			t.Fatalf("agent profile %s: %d %s", name, status, answer)
		}
		return got.Profile.ID
	}
	for _, c := range []struct {
		method, path string
		body         object
		want         int
	}{
		{"GET", "/api/profiles/p", nil, 200},
		{"GET", "/api/settings", nil, 200},
		{"GET", "/api/settings/secrets", nil, 200},
		{"POST", "/api/profiles/p/activate", object{}, 503},
		{"GET", "/api/settings/secrets/TOKEN", nil, 503},
		{"POST", "/api/conversations", conversation(object{"agent_profile_id": id("a")}), 503},
		{"POST", "/api/conversations", conversation(object{"agent_profile_id": id("m")}), 503},
		{"POST", "/api/conversations", conversation(object{"agent_settings": object{"llm": object{"model": "openai/x"}}}), 201},
	} {
		status, answer := v.do(t, c.method, c.path, c.body)
		if status != c.want || status == 503 && !strings.Contains(string(answer), "OH_PREVIOUS_SECRET_KEYS") {
			t.Errorf("%s %s: %d, want %d: %.300s", c.method, c.path, status, c.want, answer)
		}
		for _, secret := range []string{"sk-1", "sk-2", "sk-3"} {
			if strings.Contains(string(answer), secret) {
				t.Errorf("%s %s shows a secret: %s", c.method, c.path, answer)
			}
		}
	}
}
