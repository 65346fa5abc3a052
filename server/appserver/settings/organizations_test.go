package settings_test

import "testing"

// TestOrganizations adds, edits, renames, activates and deletes LLM profiles as agent-canvas
// does with a cloud's organization.
func TestOrganizations(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"openai/gpt-5"}`)
	page := s.want(200, alice, "GET", "/api/organizations", "").Body
	id, _ := at(page, "current_org_id").(string)
	items, _ := at(page, "items").([]any)
	if len(items) != 1 || id == "" || at(items[0], "id") != id || at(items[0], "is_personal") != true {
		t.Fatalf("organizations: %v", page)
	}
	own := "/api/organizations/" + id
	if me := s.want(200, alice, "GET", own+"/me", "").Body; at(me, "org_id") != id || at(me, "role") != "owner" || at(me, "llm_api_key") != "" {
		t.Errorf("me: %v", me)
	}
	profiles := own + "/profiles"
	s.want(200, alice, "POST", profiles+"/fast", `{"llm":{"model":"openai/gpt-5-mini","api_key":"sk-fast"},"include_secrets":true}`)
	s.want(200, alice, "POST", profiles+"/fast", `{"llm":{"model":"openai/gpt-5-nano"},"include_secrets":true}`) // as agent-canvas edits it
	if got := s.want(200, alice, "GET", profiles+"/fast", "").Body; at(got, "llm", "model") != "openai/gpt-5-nano" || at(got, "llm", "api_key") != nil || at(got, "api_key_set") != true {
		t.Errorf("profile: %v", got)
	}
	s.want(200, alice, "POST", profiles+"/fast/rename", `{"new_name":"quick"}`)
	if got := s.want(200, alice, "POST", profiles+"/quick/activate", `{}`).Body; at(got, "llm", "model") != "openai/gpt-5-nano" {
		t.Errorf("activated: %v", got)
	}
	if got := s.want(200, alice, "GET", profiles, "").Body; at(got, "active_profile") != "quick" {
		t.Errorf("profiles: %v", got)
	}
	s.want(200, alice, "POST", profiles+"/quick", `{"llm":{"model":"openai/gpt-5-nano"},"preserve_existing_api_key":false}`)
	if got := s.want(200, alice, "GET", profiles+"/quick", "").Body; at(got, "api_key_set") != false {
		t.Errorf("without its key: %v", got)
	}
	s.want(404, bob, "GET", profiles, "")
	s.want(404, bob, "POST", profiles+"/quick", `{"llm":{"model":"openai/gpt-5"}}`)
	s.want(200, alice, "DELETE", profiles+"/quick", "")
	s.want(404, alice, "GET", profiles+"/quick", "")
}
