package openhands_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/openhands"
)

const hidden = "hush-hush" // is in every secret

func file(name, content string) openhands.File {
	return openhands.File{Name: name, Content: []byte(content)}
}

var (
	config = file("config.toml", `
[core]
max_iterations = 77
max_budget_per_task = 2.5
git_user_name = "Ada"
runtime = "docker"
workspace_base = "./workspace"
default_agent = "CodeActAgent"
[llm]
model = "openai/gpt-5"
api_key = "hush-hush-1"
base_url = "https://user:hush-hush@llm.example.com/v1"
num_retries = 5
temperature = "warm"
embedding_model = "local"
[llm.draft]
model = "openai/small"
[security]
confirmation_mode = true
security_analyzer = "invariant"
[sandbox]
volumes = "/a:/b"
[mcp]
sse_servers = ["https://sse.example.com/hush-hush"]
stdio_servers = [{ name = "fetch", command = "uvx", args = ["mcp", "--key=hush-hush"] }]
[kubernetes]
namespace = "x"
`)
	oldSettings = file("settings.json", `{"language":"en","agent":"CodeActAgent","max_iterations":88,"llm_model":"anthropic/claude-sonnet-4-5","llm_api_key":"gAAAAABsealed","llm_base_url":"",
"git_user_email":"ada@example.com","search_api_key":"tvly-hush-hush","confirmation_mode":false,"secrets_store":{"provider_tokens":{}},
"mcp_config":{"shttp_servers":[{"url":"https://http.example.com/mcp","api_key":"hush-hush"}]}}`)
	agent = file("C:\\Users\\a\\agent_settings.json", `{"kind":"Agent","llm":{"model":"openai/cli","api_key":"hush-hush-2","usage_id":"agent","num_retries":5},"tools":[{"name":"terminal"}],
"mcp_config":{"mcpServers":{"docs":{"url":"https://docs.example.com/mcp","headers":{"X":"hush-hush"}},"masked":{"command":"x","env":{"A":"**********"}}}},
"condenser":{"kind":"LLMSummarizingCondenser","max_size":120}}`)
	secrets = file("secrets.json", `{"provider_tokens":{"github":{"token":"ghp_hush-hush","host":""},"gitlab":{"token":"glpat-hush-hush"},"svn":{"token":"hush-hush"}},
"custom_secrets":{"DEPLOY":{"secret":"hush-hush-3","description":"for deploys"},"bad name":{"secret":"hush-hush"},"PLAIN":"hush-hush-4"}}`)
)

func TestRead(t *testing.T) {
	t.Parallel()
	p, err := openhands.Read(secrets, agent, config, oldSettings)
	must.Succeed(t, err)
	var taken []string
	for _, one := range p.Taken {
		line := one.File + " " + one.Key + " > " + one.To
		if one.Secret {
			line += " (secret)"
		}
		if one.Value != "" {
			line += " = " + one.Value
		}
		taken = append(taken, line)
	}
	if d := cmp.Diff([]string{
		"settings.json max_iterations > max_iterations = 88",
		"config.toml core.max_budget_per_task > max_budget_per_task = 2.5",
		"config.toml core.git_user_name > git_user_name = Ada",
		"agent_settings.json llm.api_key > model: api_key (secret)",
		"agent_settings.json llm.model > model = openai/cli",
		"config.toml llm.base_url > model: base_url = https://llm.example.com/v1",
		"config.toml llm.draft > profile draft (secret) = openai/small",
		"config.toml security.confirmation_mode > confirmation_mode = true",
		"config.toml mcp.sse_servers[0] > MCP server sse_0 = sse.example.com",
		"config.toml mcp.stdio_servers[0] > MCP server fetch = uvx",
		"settings.json git_user_email > git_user_email = ada@example.com",
		"settings.json search_api_key > search_api_key (secret)",
		"settings.json mcp_config.shttp_servers[0] > MCP server shttp_0 = http.example.com",
		"agent_settings.json mcp_config.mcpServers.docs > MCP server docs = docs.example.com",
		"agent_settings.json condenser.max_size > condenser: size = 120",
		"secrets.json provider_tokens.github > token of github (secret)",
		"secrets.json provider_tokens.gitlab > token of gitlab (secret)",
		"secrets.json custom_secrets.DEPLOY > secret DEPLOY (secret)",
		"secrets.json custom_secrets.PLAIN > secret PLAIN (secret)",
	}, taken); d != "" {
		t.Errorf("taken (-want +got):\n%s", d)
	}
	why := map[string]string{}
	for _, one := range p.Left {
		why[one.File+" "+one.Key] = one.Why
	}
	for key, part := range map[string]string{
		"config.toml core.runtime": "runs the server", "config.toml core.workspace_base": "no effect", "config.toml core.max_iterations": "another file",
		"config.toml llm.model": "another file", "config.toml llm.temperature": "does not fit", "config.toml llm.embedding_model": "no effect",
		"config.toml security.security_analyzer": "deft run --analyzer", "config.toml sandbox.volumes": "runs the server", "config.toml kubernetes": "no effect",
		"settings.json llm_api_key": "sealed", "settings.json language": "no effect", "settings.json llm_model": "another file",
		"agent_settings.json tools": "own tools", "agent_settings.json mcp_config.mcpServers.masked": "masked",
		"secrets.json provider_tokens.svn": "no effect", "secrets.json custom_secrets.bad name": "variable",
	} {
		if !strings.Contains(why[key], part) {
			t.Errorf("%s is left because %q, want %q", key, why[key], part)
		}
	}
	shown, err := json.Marshal(p)
	if err != nil || strings.Contains(string(shown), hidden) {
		t.Errorf("a secret is shown: %s, %v", shown, err)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := settings.Open(ctx, settings.Options{Dir: t.TempDir(), Keys: keyring.New("key")})
	must.Succeed(t, err)
	must.Succeed(t, s.SetProviderTokens(ctx, map[string]settings.ProviderToken{"bitbucket": {Token: "kept", Host: "bb.example.com"}}))
	if _, err := s.Update(ctx, settings.Diff{Agent: schema.Of("mcp_config", schema.Of("mine", schema.Of("command", "own")))}); err != nil {
		t.Fatal(err)
	}
	p, err := openhands.Read(secrets, agent, config, oldSettings)
	must.Succeed(t, err)
	check := func(_ context.Context, provider string, _ settings.ProviderToken) (string, error) {
		if provider == "gitlab" {
			return "", errors.New("the host refuses it")
		}
		return "ada", nil
	}
	for range 2 { // again, nothing changes
		left, err := p.Apply(ctx, s, check)
		must.Succeed(t, err)
		if d := cmp.Diff([]openhands.Left{{File: "secrets.json", Key: "provider_tokens.gitlab", Why: "it was not stored: the host refuses it"}}, left); d != "" {
			t.Errorf("left (-want +got):\n%s", d)
		}
	}
	doc, err := s.Load()
	must.Succeed(t, err)
	model := doc.Agent.Object("llm")
	if model.Text("model") != "openai/cli" || model.Text("api_key") != "hush-hush-2" || model.Text("base_url") != "https://user:hush-hush@llm.example.com/v1" {
		t.Errorf("the model is %v", model)
	}
	if doc.Agent.Object("condenser").Get("max_size") != schema.Count(120) {
		t.Errorf("the condenser is %v", doc.Agent.Object("condenser"))
	}
	if names := doc.Agent.Object("mcp_config").Keys(); !slices.Equal(names, []string{"mine", "sse_0", "fetch", "shttp_0", "docs"}) {
		t.Errorf("the MCP servers are %q", names)
	}
	if c := doc.Conversation; c.Get("confirmation_mode") != true || c.Get("max_iterations") != schema.Count(88) {
		t.Errorf("conversations have %v", c)
	}
	prefs, err := doc.Preferences()
	if err != nil || prefs.GitUserName != "Ada" || prefs.GitUserEmail != "ada@example.com" || prefs.MaxBudgetPerTask != 2.5 {
		t.Errorf("the preferences are %+v, %v", prefs, err)
	}
	tokens, err := s.ProviderTokens(ctx)
	if err != nil || tokens["github"].Token != "ghp_hush-hush" || tokens["github"].UserID != "ada" || tokens["bitbucket"].Token != "kept" || len(tokens) != 2 {
		t.Errorf("the tokens are %v, %v", tokens, err)
	}
	for name, want := range map[string]string{"DEPLOY": "hush-hush-3", "PLAIN": "hush-hush-4"} {
		if v, err := s.Secret(ctx, name); err != nil || v.Reveal() != want {
			t.Errorf("the secret %s: %v", name, err)
		}
	}
	if l, err := s.Profiles.LLMs.Load(ctx, "draft"); err != nil || l.Model != "openai/small" || l.APIKey != "hush-hush-1" {
		t.Errorf("the profile: %v", err)
	}
}

func TestWrongFiles(t *testing.T) {
	t.Parallel()
	for _, f := range []openhands.File{
		file("config.toml", "[llm]\napi_key = hush-hush"), file("settings.json", `{"llm_api_key":"hush-hush"`), file("settings.json", `["hush-hush"]`),
		file("package.json", `{"name":"hush-hush"}`), file("config.toml", "[package]\nname = \"hush-hush\""), file("x", ""), file("settings.json", strings.Repeat("[", 100000)),
	} {
		_, err := openhands.Read(f)
		if !fault.Is(err, fault.Invalid) || fault.HintOf(err) == "" || strings.Contains(err.Error(), hidden) || strings.Contains(fault.HintOf(err), hidden) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, one := range []openhands.File{config, oldSettings, agent, secrets} {
		f.Add(one.Name, one.Content)
	}
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		p, err := openhands.Read(openhands.File{Name: name, Content: content})
		if err == nil && p.Taken == nil {
			t.Error("nothing was read, without an error")
		}
	})
}

// TestCondenserOfTheFormerGeneration reads [condenser] of config.toml.
func TestCondenserOfTheFormerGeneration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ toml, want, left string }{
		{"type = 'recent'\nmax_events = 30", `"condenser_kind":"recent","enabled":true,"keep_first":1,"max_events":30`, ""},
		{"type = 'pipeline'\n[[condenser.condensers]]\ntype = 'browser_output_masking'\nattention_window = 2\n[[condenser.condensers]]\ntype = 'structured'\nllm_config = 'x'\n[[condenser.condensers]]\ntype = 'moon'",
			`"attention_window":2},{"condenser_kind":"structured"`, "condenser.condensers.moon condenser.llm_config"},
		{"type = 'llm'\nmax_size = 90\nkeep_first = 3", `"max_size":90,"max_tokens":null,"keep_first":3`, ""},
		{"type = 'observation_masking'\nattention_window = 'wide'", `"condenser_kind":"llm_summarizing"`, "condenser.type"},
		{"type = 'pipeline'\ncondensers = [{type = 'amortized', max_size = 50}]", `[{"condenser_kind":"amortized","enabled":true,"keep_first":1,"max_size":50}]`, ""},
		{"type = 'moon'", `"condenser_kind":"llm_summarizing"`, "condenser.type"},
	} {
		s, err := settings.Open(t.Context(), settings.Options{Dir: t.TempDir(), Keys: keyring.New("key")})
		must.Succeed(t, err)
		p, err := openhands.Read(file("config.toml", "[condenser]\n"+c.toml))
		must.Succeed(t, err)
		if _, err := p.Apply(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
		doc, err := s.Load()
		must.Succeed(t, err)
		raw, err := schema.Encode(doc.Agent.Object("condenser"))
		must.Succeed(t, err)
		var left []string
		for _, one := range p.Left {
			left = append(left, one.Key)
		}
		if !strings.Contains(string(raw), c.want) || strings.Join(left, " ") != c.left {
			t.Errorf("%s: %s, left %q", c.toml, raw, left)
		}
	}
}
