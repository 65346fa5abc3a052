package openapi_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/testtree"
)

// TestProfileSkills uses the features skill_catalog_v1 and
// profile_public_skills_v1 as promised: a profile selects from the catalogue, and
// an agent that is started with it gets the selected skills.
func TestProfileSkills(t *testing.T) {
	t.Parallel()
	public, home := t.TempDir(), t.TempDir()
	testtree.Write(t, "/", map[string]string{
		filepath.Join(public, "skills", "picked", "SKILL.md"):       "the public skill that is picked",
		filepath.Join(public, "skills", "unpicked", "SKILL.md"):     "the public skill that is not picked",
		filepath.Join(public, "skills", "shadowed", "SKILL.md"):     "the public skill of a name that the user has",
		filepath.Join(home, ".agents", "skills", "shadowed.md"):     "the skill of the user",
		filepath.Join(home, ".agents", "skills", "off", "SKILL.md"): "the skill of the user that is disabled",
		filepath.Join(public, "marketplaces", "other.json"):         `{"plugins":[]}`,
	})
	url := server(t, "EXTENSIONS_PATH="+public, "HOME="+home)
	withModel(t, url)
	var info struct {
		Capabilities []string `json:"capabilities"`
	}
	do(t, "GET", url+"/server_info", nil, &info)
	for _, feature := range []string{"skill_catalog_v1", "profile_public_skills_v1"} {
		if !slices.Contains(info.Capabilities, feature) {
			t.Errorf("the server does not advertise %s", feature)
		}
	}
	do(t, "POST", url+"/api/agent-profiles/selective", map[string]any{
		"agent_kind": "openhands", "llm_profile_ref": "default",
		"public_skills": []string{"picked"}, "disabled_skills": []string{"off"},
	}, nil)
	var got struct {
		Skills []string `json:"resolved_skills"`
		Errors []string `json:"errors"`
	}
	do(t, "POST", url+"/api/agent-profiles/selective/materialize", nil, &got)
	slices.Sort(got.Skills)
	if d := cmp.Diff([]string{"picked", "shadowed"}, got.Skills); d != "" || len(got.Errors) > 0 {
		t.Errorf("skills of the profile (-want +got):\n%s%v", d, got.Errors)
	}

	var profile struct {
		Profile struct {
			ID string `json:"id"`
		} `json:"profile"`
	}
	do(t, "GET", url+"/api/agent-profiles/selective", nil, &profile)
	prompt := systemPrompt(t, url, map[string]any{"agent_profile_id": profile.Profile.ID})
	for text, want := range map[string]bool{
		"the skill of the user": true, "<name>picked</name>": true,
		"unpicked": false, "the public skill of a name": false, "that is disabled": false,
	} {
		if strings.Contains(prompt, text) != want {
			t.Errorf("the system prompt contains %q: %v", text, !want)
		}
	}
}

// TestContextSkills wants an agent's context to be given the user's and the public
// skills that it asks for.
func TestContextSkills(t *testing.T) {
	t.Parallel()
	public, home := t.TempDir(), t.TempDir()
	testtree.Write(t, "/", map[string]string{
		filepath.Join(public, "skills", "listed", "SKILL.md"):    "a public skill of the marketplace",
		filepath.Join(public, "skills", "unlisted", "SKILL.md"):  "a public skill of no marketplace",
		filepath.Join(public, "marketplaces", "default.json"):    `{"plugins":[{"name":"listed"}]}`,
		filepath.Join(home, ".agents", "skills", "own-skill.md"): "the skill of the user",
	})
	url := server(t, "EXTENSIONS_PATH="+public, "HOME="+home)
	for asked, want := range map[string]map[string]bool{
		`{}`:                          {"the skill of the user": false, "<name>listed</name>": false, "unlisted": false},
		`{"load_user_skills":true}`:   {"the skill of the user": true, "<name>listed</name>": false, "unlisted": false},
		`{"load_public_skills":true}`: {"the skill of the user": false, "<name>listed</name>": true, "unlisted": false},
	} {
		prompt := systemPrompt(t, url, map[string]any{"agent": map[string]any{
			"kind": "Agent", "llm": map[string]any{"model": "openai/scripted", "api_key": "x"}, "agent_context": json.RawMessage(asked),
		}})
		for text, has := range want {
			if strings.Contains(prompt, text) != has {
				t.Errorf("%s: the system prompt contains %q: %v", asked, text, !has)
			}
		}
	}
}

// systemPrompt starts a conversation without a run and returns its system prompt.
func systemPrompt(t *testing.T, url string, start map[string]any) string {
	t.Helper()
	start["workspace"] = map[string]any{"kind": "LocalWorkspace", "working_dir": t.TempDir()}
	start["initial_message"] = map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "hello"}}, "run": false}
	var conversation struct {
		ID string `json:"id"`
	}
	do(t, "POST", url+"/api/conversations", start, &conversation)
	var events struct {
		Items []map[string]any `json:"items"`
	}
	do(t, "GET", url+"/api/conversations/"+conversation.ID+"/events/search?kind=openhands.sdk.event.llm_convertible.system.SystemPromptEvent", nil, &events)
	if len(events.Items) != 1 {
		t.Fatalf("%d system prompts", len(events.Items))
	}
	return fmt.Sprint(events.Items[0])
}
