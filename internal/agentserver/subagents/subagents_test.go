package subagents_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/subagents"
	"github.com/deft-dev/deft/internal/rest"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const reviewer = "---\nname: rev\ndescription: Reviews <example>use me</example>\ntools: terminal, file_editor\nmodel: inherit\ncolor: red\nmax_iteration_per_run: 5\n---\nYou review.\n"

// TestAnswers compares with what the reference answers.
func TestAnswers(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret.md": "outside"})
	write(t, home, map[string]string{
		"ws/.openhands/agents/rev.md":  reviewer,
		"ws/.agents/agents/README.md":  "no agent",
		"ws/.agents/agents/bad.md":     "---\npermission_mode: maybe\n---\n",
		".agents/agents/rev.md":        "the user's",
		".openhands/agents/mine.md":    "mine",
		".openhands/agents/deep/no.md": "too deep",
	})
	if err := os.Symlink(outside+"/secret.md", home+"/ws/.agents/agents/steal.md"); err != nil {
		t.Fatal(err)
	}
	server, err := rest.New(rest.Options{
		Routes: subagents.New(subagents.Options{Home: home, Persistence: home + "/.openhands"}).Routes(),
		Keys:   func() []string { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(body string) string {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("POST", "/api/sub-agents", strings.NewReader(body)))
		if w.Code != 200 {
			return w.Body.String()
		}
		return strings.ReplaceAll(w.Body.String(), home, "HOME")
	}
	project := `"project_dir":` + quote(home+"/ws")
	want := `{"agents":[{"name":"rev","description":"Reviews <example>use me</example>","model":"inherit","color":"red","tools":["terminal, file_editor"],"skills":[],"system_prompt":"You review.","when_to_use_examples":["use me"],"permission_mode":null,"max_iteration_per_run":5,"max_budget_per_run":null,"mcp_config":null,"mcp_servers":null,"profile_store_dir":null,"hooks":null,"condenser":null,"metadata":{},"level":"project","source":"HOME/ws/.openhands/agents/rev.md","is_builtin":false}]}`
	if diff := cmp.Diff(want, ask(`{"load_builtin":false,"load_user":false,`+project+`}`)); diff != "" {
		t.Errorf("project (-want +got):\n%s", diff)
	}
	names := func(body string) string {
		var got struct {
			Agents []subagents.Definition `json:"agents"`
		}
		if err := json.Unmarshal([]byte(ask(body)), &got); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, a := range got.Agents {
			out = append(out, a.Name+" "+*a.Level)
		}
		return strings.Join(out, ", ")
	}
	for body, want := range map[string]string{
		`{` + project + `}`:                        "rev project, mine user, bash-runner builtin, code-explorer builtin, general-purpose builtin",
		`{"load_user":false}`:                      "bash-runner builtin, code-explorer builtin, general-purpose builtin",
		`{"load_builtin":false}`:                   "rev user, mine user",
		`{"load_builtin":false,"load_user":false}`: "",
	} {
		if got := names(body); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if got := ask(`null`); !strings.Contains(got, "detail") {
		t.Errorf("null: %s", got)
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestParse(t *testing.T) {
	t.Parallel()
	d, err := subagents.Parse("file", "---\ntools: [a, 1]\nskills: 'x, y'\nmax_budget_per_run: 0.5\npermission_mode: Never_Confirm\n"+
		"mcp_servers:\n  s: {url: 'http://x', headers: {K: secret}, auth: {strategy: bearer, value: secret}}\ncondenser: off\nextra: [1]\n"+
		"hooks: {Stop: [{hooks: [{command: x}]}]}\n---\nBody")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"name":"file"`, `"tools":["a","1"]`, `"skills":["x","y"]`, `"max_budget_per_run":0.5`, `"permission_mode":"never_confirm"`,
		`"condenser":{"kind":"NoOpCondenser"}`, `"metadata":{"extra":[1]}`, `"K":"**********"`, `"stop":[{"matcher":"*"`,
	} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("%s lacks %s", raw, part)
		}
	}
	if strings.Contains(string(raw), "secret") {
		t.Errorf("a secret is shown: %s", raw)
	}
	for _, bad := range []string{
		"max_iteration_per_run: 0", "max_budget_per_run: x", "max_budget_per_run: .nan", "mcp_config: [1]", "condenser: moon",
		"condenser: {a: 1}", "profile_store_dir: [1]", "hooks: {Moon: []}", "x: .inf",
	} {
		if _, err := subagents.Parse("file", "---\n"+bad+"\n---\n"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

// TestServersOfFiles holds that the MCP servers of an agent are shown as the
// reference shows them: every field that was given, enabled too, and no secret.
func TestServersOfFiles(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"mcp_config: {a: {command: x, args: [y], env: {K: hush}, cwd: /w, description: d, icon: i, timeout: 5, enabled: false, unknown: 1}}":                                                                       `{"a":{"command":"x","args":["y"],"env":{"K":"**********"},"cwd":"/w","description":"d","icon":"i","timeout":5.0,"enabled":false}}`,
		"mcp_servers: {a: {type: shttp, url: 'http://x', sse_read_timeout: 1, keep_alive: true, headers: {K: hush}}}":                                                                                              `{"a":{"url":"http://x","transport":"http","sse_read_timeout":1.0,"keep_alive":true,"headers":{"K":"**********"},"enabled":true}}`,
		"mcp_config: {mcpServers: {a: {url: 'http://x', auth: {strategy: oauth2, authentication: {type: oauth, client_id: c, client_secret: hush}, state: {tokens: {access_token: hush}, token_expires_at: 7}}}}}": `{"a":{"url":"http://x","auth":{"strategy":"oauth2","authentication":{"type":"oauth","client_id":"c","client_secret":"**********"},"state":{"tokens":{"access_token":"**********"},"token_expires_at":7.0}},"enabled":true}}`,
		"mcp_config: {}":  `{}`,
		"description: no": `null`,
	} {
		d, err := subagents.Parse("x", "---\n"+file+"\n---\n")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"mcp_config", "mcp_servers"} {
			if got := string(fields[name]); got != want {
				t.Errorf("%s: %s is %s, want %s", file, name, got, want)
			}
		}
	}
	for _, bad := range []string{"mcp_config: {a: 1}", "mcp_config: {a: {transport: moon, url: x}}", "mcp_config: {a: {command: x, enabled: maybe}}"} {
		if _, err := subagents.Parse("x", "---\n"+bad+"\n---\n"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

// FuzzParse holds that any file is an agent that can be shown, or an error.
func FuzzParse(f *testing.F) {
	f.Add(reviewer)
	f.Add("---\nx: .nan\nmcp_config: {a: {env: 1}}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := subagents.Parse("x", text)
		if err != nil {
			return
		}
		if _, err := json.Marshal(d); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
