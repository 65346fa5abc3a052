package settings_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestProfiles(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const base = "/api/v1/settings/profiles"
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"openai/gpt-5","llm_api_key":"sk-settings"}`)
	s.want(201, alice, "POST", base+"/current", "")
	s.want(201, alice, "POST", base+"/fast", `{"llm":{"model":"openai/gpt-5-mini","api_key":"sk-fast"}}`)
	s.want(201, alice, "POST", base+"/fast", `{"llm":{"model":"openai/gpt-5-nano"},"preserve_existing_api_key":true}`)
	s.want(422, alice, "POST", base+"/fast", `{"llm":{"custom_header":"x"}}`)
	s.want(422, alice, "POST", base+"/..%2Fx", `{}`)
	got := s.want(200, alice, "GET", base+"/fast", "")
	if at(got.Body, "config", "model") != "openai/gpt-5-nano" || at(got.Body, "api_key_set") != true || at(got.Body, "config", "api_key") != nil {
		t.Error(got.Text)
	}
	if got := s.want(200, alice, "GET", base+"/current", ""); at(got.Body, "config", "model") != "openai/gpt-5" || at(got.Body, "api_key_set") != true {
		t.Error(got.Text)
	}
	if got := s.want(200, alice, "POST", base+"/fast/activate", ""); at(got.Body, "model") != "openai/gpt-5-nano" {
		t.Error(got.Text)
	}
	s.want(200, alice, "POST", base+"/fast/rename", `{"new_name":"quick"}`)
	s.want(409, alice, "POST", base+"/quick/rename", `{"new_name":"current"}`)
	s.want(404, alice, "POST", base+"/none/rename", `{"new_name":"x"}`)
	s.want(404, alice, "POST", base+"/none/activate", "")
	s.want(404, alice, "GET", base+"/none", "")
	list := s.want(200, alice, "GET", base, "")
	if profiles, _ := at(list.Body, "profiles").([]any); len(profiles) != 2 || at(list.Body, "active_profile") != "quick" {
		t.Error(list.Text)
	}
	s.want(200, alice, "POST", "/api/v1/settings", `{"title_llm_profile":"quick"}`)
	v1 := s.want(200, alice, "GET", "/api/v1/settings", "")
	if at(v1.Body, "title_llm_profile") != "quick" || at(v1.Body, "llm_profiles", "active") != "quick" || at(v1.Body, "agent_settings", "llm", "model") != "openai/gpt-5-nano" {
		t.Error(v1.Text)
	}
	s.want(409, alice, "DELETE", base+"/quick", "") // it writes titles
	s.want(200, alice, "DELETE", base+"/current", "")
	s.want(200, alice, "DELETE", base+"/current", "")
	s.want(404, bob, "GET", base+"/quick", "")
	if list := s.want(200, bob, "GET", base, ""); strings.Contains(list.Text, "quick") {
		t.Error(list.Text)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	s := serve(t)
	seen, next := map[string]bool{}, ""
	for {
		got := s.want(200, alice, "GET", "/api/v1/config/models/search?limit=40&page_id="+url.QueryEscape(next), "")
		items, _ := at(got.Body, "items").([]any)
		for _, one := range items {
			id := fmt.Sprint(at(one, "provider"), "/", at(one, "name"))
			if seen[id] {
				t.Errorf("%s is listed twice", id)
			}
			seen[id] = true
		}
		page, ok := at(got.Body, "next_page_id").(string)
		if !ok {
			break
		}
		next = page
	}
	if len(seen) < 100 || !seen["openai/gpt-5"] || !seen["anthropic/claude-sonnet-4-5"] {
		t.Errorf("%d models", len(seen))
	}
	got := s.want(200, alice, "GET", "/api/v1/config/models/search?provider__eq=anthropic&query=SONNET&verified__eq=true", "")
	items, _ := at(got.Body, "items").([]any)
	for _, one := range items {
		if at(one, "provider") != "anthropic" || !strings.Contains(fmt.Sprint(at(one, "name")), "sonnet") || at(one, "verified") != true {
			t.Errorf("%v", one)
		}
	}
	if len(items) == 0 {
		t.Error("nothing was found")
	}
	got = s.want(200, alice, "GET", "/api/v1/config/providers/search?query=anth", "")
	if items, _ := at(got.Body, "items").([]any); len(items) != 1 || at(items[0], "name") != "anthropic" || at(items[0], "verified") != true {
		t.Error(got.Text)
	}
	s.want(422, alice, "GET", "/api/v1/config/models/search?limit=101", "")
	s.want(401, "", "GET", "/api/v1/config/models/search", "")
}

func TestWebClient(t *testing.T) {
	t.Parallel()
	s := serve(t)
	got := s.want(200, "", "GET", "/api/v1/web-client/config", "") // before anyone has signed in
	if at(got.Body, "app_mode") != "oss" || at(got.Body, "feature_flags", "enable_billing") != false {
		t.Error(got.Text)
	}
	s.want(200, alice, "GET", "/api/v1/settings/agent-schema", "")
	s.want(200, alice, "GET", "/api/v1/settings/conversation-schema", "")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := serve(t)
	made := s.want(200, alice, "POST", "/api/keys", `{"name":"ci","expires_at":"2099-01-01T00:00:00Z"}`)
	secret, _ := at(made.Body, "key").(string)
	if len(secret) < 40 {
		t.Fatal(made.Text)
	}
	s.want(200, alice, "POST", "/api/keys", `{}`)
	list := s.want(200, alice, "GET", "/api/keys", "")
	all, _ := list.Body.([]any)
	if len(all) != 2 || strings.Contains(list.Text, secret) || at(all[0], "name") != "ci" || at(all[0], "expires_at") == nil {
		t.Error(list.Text)
	}
	current := s.want(200, "Bearer "+secret, "GET", "/api/keys/current", "")
	if at(current.Body, "id") != at(made.Body, "id") || at(current.Body, "user_id") != "alice" {
		t.Error(current.Text)
	}
	s.want(400, alice, "GET", "/api/keys/current", "")
	id := fmt.Sprintf("/api/keys/%.0f", at(made.Body, "id"))
	s.want(404, bob, "DELETE", id, "")
	if list := s.want(200, bob, "GET", "/api/keys", ""); list.Text != "[]" {
		t.Error(list.Text)
	}
	s.want(200, alice, "DELETE", id, "")
	s.want(401, "Bearer "+secret, "GET", "/api/keys/current", "")
	s.want(422, alice, "DELETE", "/api/keys/x", "")
	s.want(422, alice, "POST", "/api/keys", `{"expires_at":"2001-01-01T00:00:00Z"}`)
	s.want(422, alice, "POST", "/api/keys", `{"not_before":"2099-01-01T00:00:00Z"}`)
	s.want(403, alice, "POST", "/api/keys", `{"org_id":"00000000-0000-0000-0000-000000000000"}`)
}
