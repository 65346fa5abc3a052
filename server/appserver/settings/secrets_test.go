package settings_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	domain "github.com/deft-dev/deft/settings"
)

func names(got answer) (out []any) {
	list, _ := at(got.Body, "items").([]any)
	for _, one := range list {
		out = append(out, at(one, "name"))
	}
	return out
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, name := range []string{"B", "A", "C"} {
		s.want(201, alice, "POST", "/api/v1/secrets", `{"name":"`+name+`","value":"value-`+name+`","description":"d"}`)
	}
	first := s.want(200, alice, "GET", "/api/v1/secrets/search?limit=2", "")
	if d := cmp.Diff([]any{"A", "B"}, names(first)); d != "" {
		t.Error(d)
	}
	next, _ := at(first.Body, "next_page_id").(string)
	last := s.want(200, alice, "GET", "/api/v1/secrets/search?limit=2&page_id="+next, "")
	if d := cmp.Diff([]any{"C"}, names(last)); d != "" || at(last.Body, "next_page_id") != nil {
		t.Error(d, last.Text)
	}
	if d := cmp.Diff([]any{"B"}, names(s.want(200, alice, "GET", "/api/v1/secrets/search?name__contains=b", ""))); d != "" {
		t.Error(d)
	}
	s.want(200, alice, "PUT", "/api/v1/secrets/A", `{"name":"A2"}`)
	s.want(400, alice, "PUT", "/api/v1/secrets/A2", `{"name":"B"}`)
	s.want(404, alice, "PUT", "/api/v1/secrets/none", `{"name":"X"}`)
	s.want(200, alice, "DELETE", "/api/v1/secrets/B", "")
	s.want(404, alice, "DELETE", "/api/v1/secrets/B", "")
	own, err := s.of(t.Context(), "alice")
	must.Succeed(t, err)
	if v, err := own.Secret(t.Context(), "A2"); err != nil || v != "value-A" {
		t.Errorf("a renamed secret: %q %v", v, err)
	}
	for _, bad := range []string{`{"name":"no-dash","value":"v"}`, `{"name":"N","value":" "}`, `{"name":"N","value":"**********"}`, `{"name":"N"}`} {
		s.want(422, alice, "POST", "/api/v1/secrets", bad)
	}
	s.want(422, alice, "GET", "/api/v1/secrets/search?limit=0", "")

	if got := names(s.want(200, bob, "GET", "/api/v1/secrets/search", "")); got != nil {
		t.Errorf("another owner's: %v", got)
	}
	s.want(404, bob, "DELETE", "/api/v1/secrets/C", "")
}

func TestGitProviders(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.want(200, alice, "POST", "/api/v1/secrets/git-providers", `{"provider_tokens":{"github":{"token":"ghp-1"},"gitlab":{"token":"glpat-1","host":"git.example.org"}}}`)
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"m"}`)
	hosts := func() any { return at(s.want(200, alice, "GET", "/api/v1/users/me", "").Body, "provider_tokens_set") }
	if d := cmp.Diff(map[string]any{"github": nil, "gitlab": "git.example.org"}, hosts()); d != "" {
		t.Error(d)
	}
	// An empty token keeps the stored one; missing ones are gone.
	s.want(200, alice, "POST", "/api/v1/secrets/git-providers", `{"provider_tokens":{"gitlab":{"token":"","host":"other.example.org"},"bitbucket":{"token":""}}}`)
	own, err := s.of(t.Context(), "alice")
	must.Succeed(t, err)
	tokens, err := own.ProviderTokens(t.Context())
	want := map[string]domain.ProviderToken{"gitlab": {Token: "glpat-1", UserID: "user-1", Host: "other.example.org"}}
	if d := cmp.Diff(want, tokens); d != "" || err != nil {
		t.Error(d, err)
	}
	s.want(401, alice, "POST", "/api/v1/secrets/git-providers", `{"provider_tokens":{"github":{"token":"wrong"}}}`)
	for _, bad := range []string{
		`{"provider_tokens":{"sourcehut":{"token":"t"}}}`, `{"provider_tokens":{"github":{"token":"a b"}}}`,
		`{"provider_tokens":{"github":{"token":"t","host":"https://u:p@h.example"}}}`, `{"provider_tokens":{"github":{"token":"t","host":"ext::sh"}}}`,
	} {
		s.want(422, alice, "POST", "/api/v1/secrets/git-providers", bad)
	}
	s.want(200, alice, "DELETE", "/api/v1/secrets/git-providers", "")
	if d := cmp.Diff(map[string]any{}, hosts()); d != "" {
		t.Error(d)
	}
	s.want(200, alice, "DELETE", "/api/v1/secrets/git-providers", "")
}

func TestSealed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"m","llm_api_key":"clear-1","search_api_key":"clear-2","sandbox_api_key":"clear-3"}`)
	s.want(200, alice, "POST", "/api/v1/secrets/git-providers", `{"provider_tokens":{"github":{"token":"clear-4"}}}`)
	s.want(201, alice, "POST", "/api/v1/secrets", `{"name":"S","value":"clear-5"}`)
	s.want(201, alice, "POST", "/api/v1/settings/profiles/p", `{"llm":{"model":"m","api_key":"clear-6"}}`)
	s.want(200, alice, "POST", "/api/v1/settings", `{"mcp_config":{"shttp_servers":[{"url":"https://h.example/mcp?page=1&api_key=clear-7"}]}}`)
	if got := fmt.Sprint(s.want(200, alice, "GET", "/api/v1/settings", "")); !strings.Contains(got, "https://h.example/mcp?page=1&api_key="+schema.Mask) {
		t.Errorf("the address is shown in %s", got)
	}
	// It stays when it comes back as it was shown, in each form of a change.
	for _, change := range []string{
		`{"mcp_config":{"shttp_servers":[{"url":"https://h.example/mcp?page=1&api_key=**********","timeout":5}]}}`,
		`{"agent_settings_diff":{"mcp_config":{"shttp_0":{"url":"https://h.example/mcp?page=1&api_key=**********","transport":"streamable-http"}}}}`,
		`{"mcp_config":{"mcpServers":{"shttp_0":{"url":"https://h.example/mcp?page=1&api_key=**********","transport":"streamable-http"}}}}`,
	} {
		s.want(200, alice, "POST", "/api/v1/settings", change)
		own, err := s.of(t.Context(), "alice")
		must.Succeed(t, err)
		doc, err := own.Load()
		must.Succeed(t, err)
		if servers := doc.Agent.Object("mcp_config"); servers.Len() != 1 || servers.Object("shttp_0").Text("url") != "https://h.example/mcp?page=1&api_key=clear-7" {
			t.Errorf("after %s: %v", change, servers)
		}
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(s.dir, "alice"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		files++
		if strings.Contains(string(raw), "clear-") {
			t.Errorf("%s has a secret in the clear: %s", path, raw)
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
	if strings.Contains(s.log.String(), "clear-") {
		t.Error("a secret is in the log")
	}
}

// TestSandboxSecrets checks the access of a sandbox's session key: to what the sandbox was given.
func TestSandboxSecrets(t *testing.T) {
	t.Parallel()
	s := serve(t)
	now := time.Now()
	box := store.Sandbox{ID: "box-alice", Owner: "alice", SessionKey: "key-alice", Created: now, Used: now}
	for _, b := range []store.Sandbox{box, {ID: "box-bob", Owner: "bob", SessionKey: "key-bob", Created: now, Used: now}} {
		must.Succeed(t, s.store.AddSandbox(t.Context(), b, 0))
	}
	give := func(owner string, names ...string) {
		must.Succeed(t, s.store.GiveSecrets(t.Context(), owner, "box-"+owner, names))
	}
	s.want(201, alice, "POST", "/api/v1/secrets", `{"name":"S","value":"of-alice","description":"d"}`)
	s.want(201, alice, "POST", "/api/v1/secrets", `{"name":"OTHER","value":"kept"}`)
	s.want(200, alice, "POST", "/api/v1/secrets/git-providers", `{"provider_tokens":{"github":{"token":"ghp-alice"}}}`)
	const base = "/api/v1/sandboxes/box-alice/settings/secrets"
	listed := func() any {
		t.Helper()
		return at(s.want(200, "", "GET", base, "", "X-Session-API-Key", "key-alice").Body, "secrets")
	}
	if d := cmp.Diff([]any{}, listed()); d != "" {
		t.Error("before it was given any:", d)
	}
	for _, name := range []string{"S", "github_token"} {
		s.want(404, "", "GET", base+"/"+name, "", "X-Session-API-Key", "key-alice")
	}
	give("alice", "S", "github_token", "gitlab_token")
	give("alice", "S")
	give("bob", "S")
	want := []any{
		map[string]any{"name": "S", "description": "d"}, map[string]any{"name": "github_token", "description": "github authentication token"},
	}
	if d := cmp.Diff(want, listed()); d != "" {
		t.Error(d)
	}
	for name, value := range map[string]string{"S": "of-alice", "github_token": "ghp-alice"} {
		if got := s.want(200, "", "GET", base+"/"+name, "", "X-Session-API-Key", "key-alice"); got.Text != value {
			t.Errorf("%s: %q", name, got.Text)
		}
	}
	s.want(404, "", "GET", base+"/gitlab_token", "", "X-Session-API-Key", "key-alice")
	s.want(404, "", "GET", base+"/OTHER", "", "X-Session-API-Key", "key-alice")
	s.want(403, "", "GET", base+"/S", "", "X-Session-API-Key", "key-bob")
	s.want(404, "", "GET", "/api/v1/sandboxes/box-bob/settings/secrets/S", "", "X-Session-API-Key", "key-bob")
	for _, who := range []string{"", alice, "Key alice"} {
		s.want(401, who, "GET", base+"/S", "")
		s.want(401, who, "GET", base, "", "X-Session-API-Key", "key-nobody")
	}
	// The key that browsers get reads none, and none is made up.
	for _, path := range []string{base, base + "/S"} {
		for _, key := range []string{box.BrowserKey(), box.BrowserKey() + "A", "box-alice.", "box-alice.key-alice", "box-alice"} {
			s.want(401, "", "GET", path, "", "X-Session-API-Key", key)
		}
	}
	// A secret of the user's hides a token of that name.
	s.want(201, alice, "POST", "/api/v1/secrets", `{"name":"github_token","value":"own"}`)
	if got := s.want(200, "", "GET", base+"/github_token", "", "X-Session-API-Key", "key-alice"); got.Text != "own" {
		t.Error(got.Text)
	}
	list, _ := listed().([]any)
	if len(list) != 2 || !slices.ContainsFunc(list, func(v any) bool { return at(v, "name") == "github_token" }) {
		t.Errorf("%v", list)
	}
}
