package settings_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/settings/agentsettings"
	_ "github.com/deft-dev/deft/tool/builtin" // tools that users choose
)

const alice, bob = "Cookie alice", "Cookie bob"

func TestFirstRun(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if got := s.want(404, alice, "GET", "/api/v1/settings", ""); at(got.Body, "detail") != "Settings not found" {
		t.Error(got.Text)
	}
	s.want(200, alice, "GET", "/api/v1/users/me", "")
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"openai/gpt-5","llm_api_key":"sk-alice","language":"de","llm_base_url":null}`)
	got := s.want(200, alice, "GET", "/api/v1/users/me", "")
	for key, want := range map[string]any{
		"llm_model": "openai/gpt-5", "llm_api_key": nil, "llm_api_key_set": true, "language": "de", "agent": "CodeActAgent",
		"search_api_key_set": false, "user_consents_to_analytics": false, "confirmation_mode": false,
	} {
		if is := at(got.Body, key); is != want {
			t.Errorf("%s: %v, want %v", key, is, want)
		}
	}
	s.want(404, bob, "GET", "/api/v1/settings", "")
}

// TestTwoViews checks that the flat settings and the documents are views of one truth.
func TestTwoViews(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"openai/gpt-5","llm_api_key":"sk-1","llm_base_url":"http://127.0.0.1:1/v1","agent":"CodeActAgent",
		"confirmation_mode":true,"security_analyzer":"llm","max_iterations":33,"enable_default_condenser":true,"condenser_max_size":77,
		"max_budget_per_task":2.5,"git_user_name":"A","git_user_email":"a@example.org","search_api_key":"tvly-1","sandbox_grouping_strategy":"ADD_TO_ANY","agent_preset":"gpt5","agent_more_tools":["ipython"]}`)
	v1 := s.want(200, alice, "GET", "/api/v1/settings", "").Body
	for _, c := range []struct {
		want any
		keys []string
	}{
		{"openai/gpt-5", []string{"agent_settings", "llm", "model"}},
		{"http://127.0.0.1:1/v1", []string{"agent_settings", "llm", "base_url"}},
		{nil, []string{"agent_settings", "llm", "api_key"}},
		{77.0, []string{"agent_settings", "condenser", "max_size"}},
		{true, []string{"conversation_settings", "confirmation_mode"}},
		{33.0, []string{"conversation_settings", "max_iterations"}},
		{2.5, []string{"max_budget_per_task"}},
		{"ADD_TO_ANY", []string{"sandbox_grouping_strategy"}},
		{"gpt5", []string{"agent_preset"}},
		{true, []string{"search_api_key_set"}},
		{nil, []string{"search_api_key"}},
	} {
		if is := at(v1, c.keys...); is != c.want {
			t.Errorf("%v: %v, want %v", c.keys, is, c.want)
		}
	}
	s.want(200, alice, "POST", "/api/v1/settings", `{"agent_settings_diff":{"llm":{"model":"anthropic/claude-sonnet-4-5","api_key":null},"condenser":{"enabled":false}},
		"conversation_settings_diff":{"confirmation_mode":false},"language":"fr","disabled_skills":["x"]}`)
	me := s.want(200, alice, "GET", "/api/v1/users/me", "").Body
	for key, want := range map[string]any{
		"llm_model": "anthropic/claude-sonnet-4-5", "llm_api_key_set": true, "enable_default_condenser": false, "condenser_max_size": 77.0,
		"confirmation_mode": false, "language": "fr", "max_iterations": 33.0, "git_user_name": "A", "max_budget_per_task": 2.5,
	} {
		if is := at(me, key); is != want {
			t.Errorf("%s: %v, want %v", key, is, want)
		}
	}
	p, err := s.of(t.Context(), "alice")
	must.Succeed(t, err)
	doc, err := p.Load()
	must.Succeed(t, err)
	if prefs, err := doc.Preferences(); err != nil || prefs.GitUserEmail != "a@example.org" || prefs.MaxBudgetPerTask != 2.5 || !slices.Equal(prefs.MoreTools, []string{"ipython"}) {
		t.Errorf("%+v %v", prefs, err)
	}
	if key, err := p.ServiceKey("search_api_key"); err != nil || key != "tvly-1" {
		t.Errorf("%q %v", key, err)
	}
}

func TestNullsKeepWhatIsStored(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"m","llm_api_key":"sk-1","llm_base_url":"http://127.0.0.1:1","language":"de","max_budget_per_task":3,
		"search_api_key":"tvly","git_user_name":"A","confirmation_mode":true,"enable_sound_notifications":true,
		"mcp_config":{"shttp_servers":[{"url":"https://a.example/mcp","api_key":"k"}]}}`)
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":null,"llm_api_key":null,"llm_base_url":null,"language":null,"search_api_key":null,"git_user_name":null,
		"confirmation_mode":null,"mcp_config":null,"condenser_max_size":null,"enable_sound_notifications":null}`)
	s.want(200, alice, "POST", "/api/v1/settings", `{"agent_settings_diff":{"llm":{"api_key":"**********"}},"search_api_key":null}`)
	me := s.want(200, alice, "GET", "/api/v1/users/me", "").Body
	for key, want := range map[string]any{
		"llm_model": "m", "llm_api_key_set": true, "llm_base_url": "http://127.0.0.1:1", "language": "de", "search_api_key_set": true,
		"git_user_name": "A", "confirmation_mode": true, "max_budget_per_task": 3.0, "enable_sound_notifications": true,
	} {
		if is := at(me, key); is != want {
			t.Errorf("%s: %v, want %v", key, is, want)
		}
	}
	if list, _ := at(me, "mcp_config", "shttp_servers").([]any); len(list) != 1 {
		t.Errorf("MCP servers: %v", list)
	}
	// Null is the value of a budget that there is not, and "" removes.
	s.want(200, alice, "POST", "/api/v1/settings", `{"max_budget_per_task":null,"search_api_key":"","llm_base_url":"","agent_settings_diff":{"llm":{"api_key":""}}}`)
	me = s.want(200, alice, "GET", "/api/v1/users/me", "").Body
	for key, want := range map[string]any{"llm_api_key_set": false, "search_api_key_set": false, "max_budget_per_task": nil, "llm_base_url": nil} {
		if is := at(me, key); is != want {
			t.Errorf("%s: %v, want %v", key, is, want)
		}
	}
}

func TestMCPServers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.want(200, alice, "POST", "/api/v1/settings", `{"mcp_config":{"sse_servers":["https://sse.example/x"],
		"stdio_servers":[{"name":"files","command":"srv","args":["-a"],"env":{"K":"secret-env"}}],
		"shttp_servers":[{"url":"https://a.example/mcp","api_key":"secret-key","timeout":30}]}}`)
	got := s.want(200, alice, "GET", "/api/v1/users/me", "")
	want := map[string]any{
		"sse_servers":   []any{map[string]any{"url": "https://sse.example/x", "api_key": nil}},
		"stdio_servers": []any{map[string]any{"name": "files", "command": "srv", "args": []any{"-a"}, "env": map[string]any{}}},
		"shttp_servers": []any{map[string]any{"url": "https://a.example/mcp", "api_key": nil, "timeout": 30.0}},
	}
	if d := cmp.Diff(want, at(got.Body, "mcp_config")); d != "" {
		t.Error(d)
	}
	// The same, sent back with one server less, keeps masked values.
	s.want(200, alice, "POST", "/api/v1/settings", `{"mcp_config":{"sse_servers":[],
		"stdio_servers":[{"name":"files","command":"srv2","args":[],"env":{"K":"**********"}}],
		"shttp_servers":[{"url":"https://a.example/mcp","api_key":"**********","timeout":30},{"url":"https://b.example/mcp"}]}}`)
	me := s.want(200, "Key alice", "GET", "/api/v1/users/me?expose_secrets=true", "")
	want = map[string]any{
		"sse_servers":   []any{},
		"stdio_servers": []any{map[string]any{"name": "files", "command": "srv2", "args": []any{}, "env": map[string]any{"K": "secret-env"}}},
		"shttp_servers": []any{
			map[string]any{"url": "https://a.example/mcp", "api_key": "secret-key", "timeout": 30.0},
			map[string]any{"url": "https://b.example/mcp", "api_key": nil},
		},
	}
	if d := cmp.Diff(want, at(me.Body, "mcp_config")); d != "" {
		t.Error(d)
	}
	// OpenHands' SDK reads them as a program that has a sandbox, without asking for secrets.
	for owner, key := range map[string]string{"alice": "key-alice", "bob": "key-bob"} {
		b := store.Sandbox{ID: "box-" + owner, Owner: owner, SessionKey: key, Created: time.Now(), Used: time.Now()}
		must.Succeed(t, s.store.AddSandbox(t.Context(), b, 0))
	}
	for _, c := range []struct {
		who, key string
		shown    bool
	}{{"Key alice", "key-alice", true}, {"Key alice", "key-bob", false}, {"Key alice", "", false}, {alice, "key-alice", false}} {
		me := s.want(200, c.who, "GET", "/api/v1/users/me", "", "X-Session-API-Key", c.key)
		if strings.Contains(me.Text, "secret-key") != c.shown || strings.Contains(me.Text, "secret-env") != c.shown {
			t.Errorf("%s with %q: %s", c.who, c.key, me.Text)
		}
		if d := cmp.Diff(want, at(me.Body, "mcp_config")); c.shown && d != "" {
			t.Error(d)
		}
	}
	// The documents show the same servers, and change them by name.
	s.want(200, alice, "POST", "/api/v1/settings", `{"agent_settings_diff":{"mcp_config":{"files":null,"new":{"command":"n"}}}}`)
	v1 := s.want(200, alice, "GET", "/api/v1/settings", "")
	names, _ := at(v1.Body, "agent_settings", "mcp_config").(map[string]any)
	if len(names) != 3 || names["new"] == nil || names["shttp_0"] == nil {
		t.Errorf("%v", names)
	}
	if strings.Contains(v1.Text, "secret-key") || strings.Contains(got.Text, "secret-") {
		t.Error("a secret is in an answer")
	}
	for _, bad := range []string{`{}`, `{"command":""}`, `{"url":"mcp.example.com"}`, `{"url":"file:///etc/passwd"}`} {
		s.want(422, alice, "POST", "/api/v1/settings", `{"mcp_config":{"mcpServers":{"only":`+bad+`}}}`)
		s.want(422, alice, "POST", "/api/v1/settings", `{"agent_settings_diff":{"mcp_config":{"mcpServers":{"only":`+bad+`}}}}`)
	}
	s.want(200, alice, "POST", "/api/v1/settings", `{"agent_settings_diff":{"mcp_config":{"mcpServers":{"only":{"command":"o"}}}}}`)
	v1 = s.want(200, alice, "GET", "/api/v1/settings", "")
	if names, _ = at(v1.Body, "agent_settings", "mcp_config").(map[string]any); len(names) != 1 {
		t.Errorf("%v", names)
	}
	// A mask that comes back stands for the stored secret.
	const web = `"web":{"url":"https://a.example/mcp","headers":{"Authorization":`
	s.want(200, alice, "POST", "/api/v1/settings", `{"agent_settings_diff":{"mcp_config":{"mcpServers":{`+web+`"Bearer secret-w"}}}}}}`)
	s.want(200, alice, "POST", "/api/v1/settings", `{"agent_settings_diff":{"mcp_config":{"mcpServers":{`+web+`"**********"}},"more":{"command":"m"}}}}}`)
	v1 = s.want(200, alice, "GET", "/api/v1/settings", "")
	if is := at(v1.Body, "agent_settings", "mcp_config", "web", "headers", "Authorization"); is != schema.Mask {
		t.Errorf("the header is %v", is)
	}
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, c := range []struct{ path, body string }{
		{"/api/v1/settings", `[]`},
		{"/api/v1/settings", `{"condenser_max_size":3}`},
		{"/api/v1/settings", `{"max_iterations":"many"}`},
		{"/api/v1/settings", `{"security_analyzer":"invariant"}`},
		{"/api/v1/settings", `{"git_user_name":"a\nb"}`},
		{"/api/v1/settings", `{"sandbox_grouping_strategy":"SOME"}`},
		{"/api/v1/settings", `{"agent_preset":"SOME"}`},
		{"/api/v1/settings", `{"agent_more_tools":["absent"]}`},
		{"/api/v1/settings", `{"agent_more_tools":["planning_file_editor"]}`}, // of a preset
		{"/api/v1/settings", `{"mcp_config":{"sse_servers":[{"url":"file:///etc/passwd"}]}}`},
		{"/api/v1/settings", `{"mcp_config":{"shttp_servers":["https://a.example","https://a.example"]}}`},
		{"/api/v1/settings", `{"mcp_config":{"stdio_servers":[{"name":"a"}]}}`},
		{"/api/v1/settings", `{"agent_settings":{"llm":{"model":"m"}}}`},
		{"/api/v1/settings", `{"conversation_settings":{}}`},
		{"/api/v1/settings", `{"agent_settings_diff":{"tools":"all"}}`},
		{"/api/v1/settings", `{"agent_settings_diff":7}`},
		{"/api/v1/settings", ``},
	} {
		s.want(422, alice, "POST", c.path, c.body)
	}
	s.want(404, alice, "POST", "/api/v1/settings", `{"title_llm_profile":"none"}`)
	s.want(404, alice, "GET", "/api/v1/settings", "") // nothing of it was stored
}

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"m","llm_api_key":"sk-alice","search_api_key":"tvly-alice"}`)
	s.want(201, alice, "POST", "/api/v1/settings/profiles/fast", `{"llm":{"model":"openai/gpt-5-mini","api_key":"sk-fast"}}`)
	for _, who := range []string{alice, "Sandbox alice", ""} {
		if got := s.do(who, "GET", "/api/v1/users/me?expose_secrets=true", ""); got.Status < 400 || strings.Contains(got.Text, "sk-alice") {
			t.Errorf("%q: %d %s", who, got.Status, got.Text)
		}
	}
	if strings.Contains(s.log.String(), "in the clear") {
		t.Error("a refusal is logged as an answer")
	}
	got := s.want(200, "Key alice", "GET", "/api/v1/users/me?expose_secrets=true", "")
	for _, c := range []struct {
		want any
		keys []string
	}{
		{"sk-alice", []string{"llm_api_key"}}, {"m", []string{"llm_model"}}, {"tvly-alice", []string{"search_api_key"}}, {"alice", []string{"id"}},
		{"sk-fast", []string{"llm_profiles", "profiles", "fast", "api_key"}}, {"sk-alice", []string{"agent_settings", "llm", "api_key"}},
	} {
		if is := at(got.Body, c.keys...); is != c.want {
			t.Errorf("%v: %v, want %v", c.keys, is, c.want)
		}
	}
	if !strings.Contains(s.log.String(), "in the clear") {
		t.Error("not logged")
	}
	for _, who := range []string{"Key alice", alice} {
		if got := s.want(200, who, "GET", "/api/v1/users/me", ""); strings.Contains(got.Text, "sk-") || strings.Contains(got.Text, "tvly-") {
			t.Error(got.Text)
		}
	}
	for _, path := range []string{"/api/v1/users/me", "/api/v1/settings", "/api/v1/settings/profiles/fast", "/api/v1/settings/profiles", "/api/keys", "/api/v1/secrets/search"} {
		s.want(401, "", "GET", path, "")
		s.want(403, "Sandbox alice", "GET", path, "")
	}
}

// TestModelIsTried: a model is tried before it is stored, with the stored key where the change has
// none, and a failure is said without the key.
func TestModelIsTried(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const alice = "Cookie alice"
	s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"openai/m","llm_api_key":"sk-alice"}`)
	for body, want := range map[string]string{
		``: "", `{"llm":{"model":"openai/other","base_url":"http://alive/v1"}}`: "",
		`{"llm":{"base_url":"http://dead/v1"}}`:                        "no connection with ********",
		`{"llm":{"base_url":"http://dead/v1","api_key":"sk-new-one"}}`: "no connection with ********",
		`{"llm":{"base_url":"http://slow/v1"}}`:                        "has not answered within 15 seconds",
	} {
		got := s.want(200, alice, "POST", "/api/v1/settings/test", body)
		message, _ := at(got.Body, "message").(string)
		if at(got.Body, "works") != (want == "") || !strings.Contains(message, want) || strings.Contains(got.Text, "sk-") {
			t.Errorf("%s: %s", body, got.Text)
		}
	}
	s.want(422, alice, "POST", "/api/v1/settings/test", `{"llm":7}`)
	if got := s.want(200, alice, "GET", "/api/v1/settings/limits", ""); got.Text != `{"max_iterations":40,"max_budget_per_task":2,"networks":["none","go,npm"]}` {
		t.Errorf("limits: %s", got.Text)
	}
	if got := s.want(200, alice, "GET", "/api/v1/settings", ""); strings.Contains(got.Text, "dead") || strings.Contains(got.Text, "alive") {
		t.Errorf("stored: %s", got.Text)
	}
}

// TestMCPServerIsTested: the server is asked with its secrets, which the answer has not; a program
// is tried in a sandbox.
func TestMCPServerIsTested(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const alice = "Cookie alice"
	s.want(200, alice, "POST", "/api/v1/settings", `{"agent_settings_diff":{"mcp_config":{"mcpServers":{
		"docs":{"url":"https://docs.example/mcp","headers":{"Authorization":"Bearer hush"}},
		"closed":{"url":"https://closed.example/mcp"},
		"files":{"command":"touch","args":["/tmp/planted"]},"lost":{"command":"no-such-program"}}}}}`)
	for name, want := range map[string]struct {
		works   bool
		tools   []any
		message string
	}{
		"docs":   {works: true, tools: []any{"search", "fetch"}},
		"closed": {tools: []any{}, message: "wants a token (give it one)"},
		"files":  {works: true, tools: []any{"list"}},
		"lost":   {tools: []any{}, message: "no such program"},
	} {
		got := s.want(200, alice, "POST", "/api/v1/settings/mcp-servers/"+name+"/test", "")
		message, _ := at(got.Body, "message").(string)
		if at(got.Body, "works") != want.works || !strings.Contains(message, want.message) || strings.Contains(got.Text, "hush") {
			t.Errorf("%s: %s", name, got.Text)
		}
		if d := cmp.Diff(want.tools, at(got.Body, "tools")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	s.want(404, alice, "POST", "/api/v1/settings/mcp-servers/other/test", "")
	s.want(404, "Cookie bob", "POST", "/api/v1/settings/mcp-servers/docs/test", "")
}

// TestUnfitSettings: mistakes are named, without their values.
func TestUnfitSettings(t *testing.T) {
	t.Parallel()
	s := serve(t)
	kinds := " (one of " + strings.Join(agentsettings.CondenserSettings.Order, ", ") + ")"
	for body, want := range map[string]string{
		`{"agent_settings_diff":{"condenser":{"condenser_kind":"sk-hidden"}}}`:                                        "agent_settings.condenser" + kinds,
		`{"agent_settings_diff":{"condenser":{"condenser_kind":"pipeline","condensers":[{"kind":"NoOpCondenser"}]}}}`: "agent_settings.condenser.pipeline.condensers.0" + kinds,
		`{"agent_settings_diff":{"llm":{"model":null}}}`:                                                              "agent_settings.llm",
		`{"agent_settings_diff":{"llm":{"timeout":"sk-hidden"}}}`:                                                     "agent_settings.llm.timeout",
		`{"conversation_settings_diff":{"security_analyzer":"sk-hidden"}}`:                                            "conversation_settings.security_analyzer (one of llm, none)",
		`{"conversation_settings_diff":{"max_iterations":"sk-hidden"}}`:                                               "conversation_settings.max_iterations",
	} {
		got := s.want(422, alice, "POST", "/api/v1/settings", body)
		for _, key := range []string{"detail", "error"} { // OpenHands' page shows the second
			if text, _ := at(got.Body, key).(string); text != "Settings validation failed: "+want {
				t.Errorf("%s: %s, want %s", body, got.Text, want)
			}
		}
	}
}

// TestIgnored names the fields of a change that have no meaning.
func TestIgnored(t *testing.T) {
	t.Parallel()
	s := serve(t)
	got := s.want(200, alice, "POST", "/api/v1/settings", `{"nope":1,"llm_model":"m","git_full_clone":true,"llm_api_key_set":true}`)
	if d := cmp.Diff(map[string]any{"message": "Settings stored", "ignored": []any{"nope", "git_full_clone"}}, got.Body); d != "" {
		t.Error(d)
	}
	if got := s.want(200, alice, "POST", "/api/v1/settings", `{"llm_model":"m"}`); at(got.Body, "ignored") != nil {
		t.Errorf("%v", got.Body)
	}
}
