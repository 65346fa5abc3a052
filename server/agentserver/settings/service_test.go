package settings_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	must.Succeed(t, err)
	return string(raw)
}

// fill sets a secret of each kind.
func fill(t *testing.T, s *server) {
	t.Helper()
	for _, c := range [][3]string{
		{"PATCH", "/api/settings", `{"agent_settings_diff":{"llm":{"model":"m","api_key":"sk-settings"},"mcp_config":{"x":{"command":"c","env":{"K":"sk-mcp"}}}}}`},
		{"PUT", "/api/settings/secrets", `{"name":"TOKEN","value":"sk-secret"}`},
		{"POST", "/api/profiles/fast", `{"llm":{"model":"m","api_key":"sk-profile"}}`},
		{"POST", "/api/llm/provider-connections", `{"display_name":"c","api_key":"sk-connection"}`},
	} {
		if r := s.do(c[0], c[1], c[2]); r.Status >= 300 {
			t.Fatalf("%s %s: %v", c[0], c[1], r)
		}
	}
}

var secretFiles = []string{"settings.json", "secrets.json", "profiles/fast.json", "provider-connections/provider_connections.json"}

func TestSecretsAreSealedAndRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, serve(t, dir, keyring.New("first")))
	before := map[string]string{}
	for _, f := range secretFiles {
		before[f] = read(t, dir, f)
		if strings.Contains(before[f], "sk-") || !strings.Contains(before[f], "gAAAAA") {
			t.Errorf("%s is not sealed: %s", f, before[f])
		}
		if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info.Mode(), err)
		}
	}
	serve(t, dir, keyring.New("second", "first"))
	for _, f := range secretFiles {
		if read(t, dir, f) == before[f] {
			t.Errorf("%s was not sealed anew", f)
		}
	}
	s := serve(t, dir, keyring.New("second")) // the first key is forgotten
	if v, err := s.Secret(t.Context(), "TOKEN"); err != nil || v.Reveal() != "sk-secret" {
		t.Errorf("secret: %v", err)
	}
	if r := s.do("GET", "/api/settings X-Expose-Secrets: plaintext", ""); at(r.Body, "agent_settings", "llm", "api_key") != "sk-settings" {
		t.Errorf("settings: %v", at(r.Body, "agent_settings", "llm", "api_key"))
	}
	if r := s.do("GET", "/api/profiles/fast X-Expose-Secrets: plaintext", ""); at(r.Body, "config", "api_key") != "sk-profile" {
		t.Errorf("profile: %v", r.Body)
	}
}

func TestAnotherKeyBlocksWriting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, serve(t, dir, keyring.New("first")))
	before := map[string]string{}
	for _, f := range secretFiles {
		before[f] = read(t, dir, f)
	}
	s := serve(t, dir, keyring.New("second"))
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/api/settings", "", 200},
		{"PATCH", "/api/settings", `{"misc_settings_diff":{"a":1}}`, 409},
		{"PUT", "/api/settings/secrets", `{"name":"B","value":"v"}`, 503},
		{"DELETE", "/api/settings/secrets/TOKEN", "", 503},
		{"GET", "/api/settings/secrets/TOKEN", "", 503},
		{"POST", "/api/profiles/fast/activate", "", 503},
		{"GET", "/api/profiles/fast", "", 200},
		{"GET", "/api/profiles/fast X-Expose-Secrets: plaintext", "", 503},
		{"GET", "/api/profiles/fast X-Expose-Secrets: encrypted", "", 503},
		{"POST", "/api/llm/provider-connections", `{"display_name":"d","api_key":"k"}`, 400},
		{"GET", "/api/llm/provider-connections", "", 400},
		{"GET", "/api/profiles", "", 200},
	} {
		if r := s.do(c.method, c.path, c.body); r.Status != c.status {
			t.Errorf("%s %s: %v, want %d", c.method, c.path, r, c.status)
		}
	}
	for _, f := range secretFiles {
		if read(t, dir, f) != before[f] {
			t.Errorf("%s was written over", f)
		}
	}
}

// TestOlderFilesBlockWriting holds the server to leaving files of older schema
// versions as they are.
func TestOlderFilesBlockWriting(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		`{"schema_version":5,"misc_settings":{"a":1}}`,
		`{"schema_version":6,"agent_settings":{"schema_version":8,"llm":{"model":"older"}}}`,
		`{"schema_version":6,"conversation_settings":{"schema_version":0}}`,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "settings.json")
		must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
		s := serve(t, dir, nil)
		if r := s.do("GET", "/api/settings", ""); r.Status != 200 || at(r.Body, "agent_settings", "llm", "model") == "older" {
			t.Errorf("%s: %v", content, r)
		}
		if r := s.do("PATCH", "/api/settings", `{"misc_settings_diff":{"b":1}}`); r.Status != 409 || read(t, path) != content {
			t.Errorf("%s was written over: %v", content, r)
		}
	}
}

func TestWithoutAKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, dir, nil)
	if r := s.do("GET", "/api/settings X-Expose-Secrets: encrypted", ""); r.Status != 200 {
		t.Errorf("nothing to seal: %v", r)
	}
	fill(t, s)
	if r := s.do("GET", "/api/settings X-Expose-Secrets: encrypted", ""); r.Status != 503 {
		t.Errorf("sealed without a key: %v", r)
	}
	if r := s.do("GET", "/api/profiles/fast X-Expose-Secrets: encrypted", ""); r.Status != 503 || !strings.Contains(fmt.Sprint(r.Body), "OH_SECRET_KEY") {
		t.Errorf("a profile sealed without a key: %v", r)
	}
	r := s.do("GET", "/api/settings", "")
	if got := fmt.Sprint(r.Body); r.Status != 200 || strings.Contains(got, "sk-") || at(r.Body, "llm_api_key_is_set") != true {
		t.Errorf("masked: %v", r)
	}
}

func TestClientsReturnWhatWasSealed(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), keyring.New("k"))
	fill(t, s)
	sealed := at(s.do("GET", "/api/settings X-Expose-Secrets: encrypted", "").Body, "agent_settings", "llm", "api_key")
	body := fmt.Sprintf(`{"llm":{"model":"m","api_key":%q}}`, sealed)
	if !strings.HasPrefix(fmt.Sprint(sealed), "gAAAAA") {
		t.Fatalf("sealed: %v", sealed)
	}
	if r := s.do("POST", "/api/profiles/again", body); r.Status != 201 {
		t.Fatal(r)
	}
	if r := s.do("GET", "/api/profiles/again X-Expose-Secrets: plaintext", ""); at(r.Body, "config", "api_key") != "sk-settings" {
		t.Errorf("the sealed key came back as %v", r.Body)
	}
	// The mask says that there is no value; merged, it must not become the key.
	s.do("PATCH", "/api/settings", `{"agent_settings_diff":{"llm":{"api_key":"**********"}}}`)
	if r := s.do("GET", "/api/settings X-Expose-Secrets: plaintext", ""); at(r.Body, "agent_settings", "llm", "api_key") != nil {
		t.Errorf("the mask became a key: %v", at(r.Body, "agent_settings", "llm"))
	}
}

func TestChangesAtOnceAreAllKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, other := serve(t, dir, keyring.New("k")), serve(t, dir, keyring.New("k"))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s := one
			if i%2 == 1 {
				s = other
			}
			s.do("PATCH", "/api/settings", fmt.Sprintf(`{"misc_settings_diff":{"n%d":%d}}`, i, i))
			s.do("PUT", "/api/settings/secrets", fmt.Sprintf(`{"name":"N%d","value":"v"}`, i))
		})
	}
	all.Wait()
	doc, err := one.Load()
	if err != nil || doc.Misc.Len() != 20 {
		t.Errorf("%d changes of settings are left: %v", doc.Misc.Len(), err)
	}
	if list, err := other.Secrets(); err != nil || len(list) != 20 {
		t.Errorf("%d secrets are left: %v", len(list), err)
	}
}

func TestProfileLimits(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), nil)
	for i := range 50 {
		if r := s.do("POST", fmt.Sprintf("/api/profiles/p%d", i), `{"llm":{"model":"m"}}`); r.Status != 201 {
			t.Fatal(r)
		}
	}
	if r := s.do("POST", "/api/profiles/more", `{"llm":{"model":"m"}}`); r.Status != 409 {
		t.Errorf("the 51st: %v", r)
	}
	if r := s.do("POST", "/api/profiles/p7", `{"llm":{"model":"other"}}`); r.Status != 201 {
		t.Errorf("one that is there: %v", r)
	}
}

// TestOrganizationConnections: an organization has its user's connections, in an
// object.
func TestOrganizationConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), nil)
	const all = "/api/organizations/mine/provider-connections"
	made := s.do("POST", all, `{"display_name":"Work","provider":"openai","api_key":"sk-12345"}`)
	id, _ := at(made.Body, "id").(string)
	if made.Status != 201 || id == "" {
		t.Fatalf("%v", made)
	}
	r := s.do("GET", all, "")
	list, _ := at(r.Body, "connections").([]any)
	if r.Status != 200 || len(list) != 1 || at(list[0], "api_key_set") != true || at(list[0], "api_key") != nil {
		t.Errorf("%v", r)
	}
	if r := s.do("DELETE", all+"/"+id, ""); r.Status != 200 {
		t.Errorf("%v", r)
	}
	if own, _ := s.do("GET", "/api/llm/provider-connections", "").Body.([]any); len(own) != 0 {
		t.Errorf("%v", own)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), nil)
	problem := func(typ, msg string) map[string]any {
		return map[string]any{"valid": false, "error": map[string]any{"type": typ, "message": msg}}
	}
	fine := map[string]any{"valid": true, "error": nil}
	for model, want := range map[string]map[string]any{
		"openai/good": fine, "openai/busy": fine,
		"openai/bad-key": problem("LLMAuthenticationError", "invalid key **********"),
		"openai/broke":   problem("LLMRateLimitError", "the budget is used up"),
		"openai/unknown": problem("NotFoundError", "openai openai/unknown (HTTP 404): no such model"),
		"openai/unnamed": problem("NotFoundError", "openai openai/unnamed (HTTP 400): no such model"),
	} {
		r := s.do("POST", "/api/profiles/draft/validate", fmt.Sprintf(`{"llm":{"model":%q,"api_key":"sk-12345"}}`, model))
		if diff := cmp.Diff(any(want), r.Body); diff != "" || r.Status != 200 {
			t.Errorf("%s: %d\n%s", model, r.Status, diff)
		}
	}
	if r := s.do("POST", "/api/profiles/draft/validate", `{"llm":{"model":"m","provider_connection_id":"gone"}}`); r.Status != 422 {
		t.Errorf("a connection that is gone: %v", r)
	}
}

func TestSomeAgentProfileIsActive(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), nil)
	fill(t, s)
	first, err := s.EnsureActive(t.Context())
	if err != nil || first == "" {
		t.Fatal(first, err)
	}
	p, err := s.ActiveProfile(t.Context())
	if err != nil || p.Text("name") != "default" || p.Text("llm_profile_ref") != "default" {
		t.Errorf("%v %v", p, err)
	}
	if l, err := s.Profiles.LLMs.Load(t.Context(), "default"); err != nil || l.APIKey.Reveal() != "sk-settings" {
		t.Errorf("the settings' LLM was not saved: %v", err)
	}
	if r := s.do("DELETE", "/api/agent-profiles/default", ""); r.Status != 200 {
		t.Error(r)
	}
	if second, err := s.EnsureActive(t.Context()); err != nil || second == first || second == "" {
		t.Errorf("after it was deleted: %q %v", second, err)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), nil)
	deep := strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500)
	for _, c := range [][2]string{
		{"PATCH /api/settings", `{`}, {"PATCH /api/settings", ``}, {"PATCH /api/settings", `null`}, {"PATCH /api/settings", `{"misc_settings_diff":` + deep + `}`},
		{"POST /api/profiles/x", `"llm"`}, {"POST /api/profiles/x", `{"llm":null}`}, {"POST /api/profiles/..%2fx", `{"llm":{"model":"m"}}`},
		{"POST /api/profiles/a%00b", `{"llm":{"model":"m"}}`}, {"POST /api/agent-profiles/x", `[]`}, {"POST /api/agent-profiles/x", `{"id":{},"llm_profile_ref":"x"}`},
		{"POST /api/agent-profiles/x/materialize", `{"profile":5}`}, {"PUT /api/settings/secrets", `{"name":null,"value":"x"}`},
		{"POST /api/settings/mcp/x", `{"env":{"A":5}}`}, {"PATCH /api/llm/provider-connections/x", `{"a":1}`}, {"POST /api/workspaces", `{"workspaces":[5]}`},
		{"POST /api/meta-profiles/x", `{"classifier_model":1}`}, {"POST /api/profiles/x/rename", `{"new_name":"../y"}`},
	} {
		method, path, _ := strings.Cut(c[0], " ")
		if r := s.do(method, path, c[1]); r.Status != 422 {
			t.Errorf("%s %.60s: %v", c[0], c[1], r)
		}
	}
}

func TestSecretsOfNobody(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), nil)
	if _, err := s.Secret(t.Context(), "NONE"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if err := s.DeleteSecret(t.Context(), "NONE"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// FuzzPatch changes settings by anything: accepted settings can be read again, and
// the answer is never a defect of ours.
func FuzzPatch(f *testing.F) {
	for _, s := range scenario {
		if s.method == "PATCH" && s.path == "/api/settings" {
			f.Add(s.body)
		}
	}
	f.Add(`{"agent_settings_diff":{"mcp_config":{"a":{"auth":{"strategy":"oauth2","state":{"tokens":{"access_token":"t","x":1}}}}}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		dir := t.TempDir()
		s := serve(t, dir, keyring.New("k"))
		switch r := s.do("PATCH", "/api/settings", body); {
		case r.Status == 200:
			before := normal(s.do("GET", "/api/settings X-Expose-Secrets: plaintext", "").Body)
			if r := s.do("PATCH", "/api/settings", `{"misc_settings_diff":{}}`); r.Status != 200 {
				t.Fatalf("%q was accepted, and then: %v", body, r)
			}
			after := normal(s.do("GET", "/api/settings X-Expose-Secrets: plaintext", "").Body)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Fatalf("%q reads otherwise after it was stored again\n%s", body, diff)
			}
		case r.Status >= 500:
			t.Fatalf("%q: %v", body, r)
		}
	})
}
