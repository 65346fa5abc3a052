package subagent_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/subagent"
)

const reviewer = "---\nname: rev\ndescription: Reviews <example>use me</example>\ntools: terminal, file_editor\nmodel: inherit\ncolor: red\nmax_iteration_per_run: 5\n---\nYou review.\n"

func TestParse(t *testing.T) {
	t.Parallel()
	d, err := subagent.Parse("file", "---\ntools: [a, 1]\nskills: 'x, y'\nmax_budget_per_run: 0.5\npermission_mode: Never_Confirm\n"+
		"mcp_servers:\n  s: {url: 'http://x', headers: {K: secret}, auth: {strategy: bearer, value: secret}}\ncondenser: off\nextra: [1]\n"+
		"hooks: {Stop: [{hooks: [{command: x}]}]}\n---\nBody")
	must.Succeed(t, err)
	raw, err := json.Marshal(d)
	must.Succeed(t, err)
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
		"condenser: {a: 1}", "condenser: {kind: MoonCondenser}", "condenser: {kind: LLMSummarizingCondenser, max_size: x}", "profile_store_dir: [1]", "hooks: {Moon: []}", "x: .inf",
	} {
		if _, err := subagent.Parse("file", "---\n"+bad+"\n---\n"); !fault.Is(err, fault.Invalid) {
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
		d, err := subagent.Parse("x", "---\n"+file+"\n---\n")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		raw, err := json.Marshal(d)
		must.Succeed(t, err)
		var fields map[string]json.RawMessage
		must.Succeed(t, json.Unmarshal(raw, &fields))
		for _, name := range []string{"mcp_config", "mcp_servers"} {
			if got := string(fields[name]); got != want {
				t.Errorf("%s: %s is %s, want %s", file, name, got, want)
			}
		}
	}
	for _, bad := range []string{"mcp_config: {a: 1}", "mcp_config: {a: {transport: moon, url: x}}", "mcp_config: {a: {command: x, enabled: maybe}}"} {
		if _, err := subagent.Parse("x", "---\n"+bad+"\n---\n"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

// FuzzParse holds that any file is an agent that can be shown, or an error.
func FuzzParse(f *testing.F) {
	f.Add(reviewer)
	f.Add("---\nx: .nan\nmcp_config: {a: {env: 1}}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := subagent.Parse("x", text)
		if err != nil {
			return
		}
		if _, err := json.Marshal(d); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	d, err := subagent.Decode([]byte(`{"name":"a","description":"d","tools":["terminal"],"system_prompt":"p","max_budget_per_run":0.5,
"hooks":{"stop":[{"hooks":[{"command":"x"}]}]},"mcp_config":{"s":{"command":"x","env":{"K":"secret"}}},"unknown":1}`))
	must.Succeed(t, err)
	if d.Name != "a" || d.Model != "inherit" || *d.MaxBudget != 0.5 || d.Hooks.Empty() || strings.Contains(string(d.MCPConfig), "secret") ||
		d.Servers.Object("s").Object("env").Text("K") != "secret" {
		t.Errorf("got %+v, MCP servers %s", d, d.MCPConfig)
	}
	for _, bad := range []string{`[]`, `{"tools":1}`, `{"hooks":{"moon":1}}`, `{"mcp_config":{"s":1}}`, `{"condenser":{"kind":"MoonCondenser"}}`} {
		if _, err := subagent.Decode([]byte(bad)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

// TestLeftOut names the files of a project that are no agents.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testtree.Write(t, dir, map[string]string{
		".agents/agents/good.md": "look", ".agents/agents/bad.md": "---\npermission_mode: maybe\n---\n", ".agents/agents/round.md": "->round.md",
		".agents/agents/out.md": "->/dev/zero", ".agents/agents/dir.md/x": "", ".agents/agents/notes.txt": "", ".agents/agents/README.md": "",
	})
	must.Succeed(t, unix.Mkfifo(filepath.Join(dir, ".agents/agents/pipe.md"), 0o600))
	all, warnings := subagent.Catalog{}.List(subagent.Query{Project: true, ProjectDir: dir})
	var names []string
	for _, w := range warnings {
		names = append(names, filepath.Base(w.Path))
	}
	if got := strings.Join(names, " "); len(all) != 1 || got != "bad.md out.md pipe.md round.md" {
		t.Errorf("%d agents, left out %s", len(all), got)
	}
}
