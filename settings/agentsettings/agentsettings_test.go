package agentsettings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

func document(t *testing.T, raw string) *schema.Map {
	t.Helper()
	v, err := schema.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := v.(*schema.Map)
	return m
}

func text(t *testing.T, v any) string {
	t.Helper()
	raw, err := schema.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestFormerNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, key, want string }{
		{`{"agent_kind":"llm"}`, "agent_kind", `"openhands"`},
		{`{"schema_version":9,"tools":[{"name":"grep"}]}`, "tools", `[{"name":"grep","params":{}}]`},
		{`{"schema_version":null}`, "schema_version", `9`},
	} {
		m, err := agentsettings.Validate(document(t, c.raw), schema.Reading{})
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		out, err := agentsettings.Dump(m, schema.Writing{Mode: schema.Plain})
		if got := text(t, out.Get(c.key)); got != c.want || err != nil {
			t.Errorf("%s: %s is %s %v", c.raw, c.key, got, err)
		}
	}
	m, err := agentsettings.Validate(document(t, `{"llm":{"model":"openhands/m","base_url":"https://llm-proxy.app.all-hands.dev/"}}`), schema.Reading{})
	if err != nil || m.Object("llm").Get("base_url") != nil {
		t.Errorf("%v %v", m.Object("llm"), err)
	}
}

func TestWhatARequestMayNotSay(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"enable_sub_agents":false}`, `{"enable_switch_llm_tool":true}`, `{"agent_kind":"acp","llm":{"model":"m"}}`, `{"agent_kind":"pet"}`,
		`{"schema_version":8}`, `{"schema_version":0}`, `{"schema_version":[]}`, `{"mcp_config":{"mcpServers":{"a":{"command":"c"}}}}`,
		`{"schema_version":10}`, `{"schema_version":-1}`, `{"schema_version":"9"}`, `{"tool_concurrency_limit":0}`, `{"condenser":{"max_size":5}}`, `{"persona":""}`,
		`{"agent_kind":"acp","acp_file_secrets":[{"secret_name":"a","filename":"../x","env_var":"B","subdir":"c"}]}`,
	} {
		if m, err := agentsettings.Validate(document(t, raw), schema.Reading{}); err == nil {
			t.Errorf("%s: %s", raw, text(t, m))
		}
	}
}

func TestAnotherKindStartsAfresh(t *testing.T) {
	t.Parallel()
	own, err := agentsettings.Validate(document(t, `{"llm":{"model":"m","api_key":"k"},"mcp_config":{"a":{"command":"c"}}}`), schema.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	before := text(t, own)
	acp, err := agentsettings.Apply(own, document(t, `{"agent_kind":"acp","acp_model":"x"}`), schema.Reading{})
	if err != nil || acp.Text("acp_model") != "x" || acp.Object("mcp_config").Len() != 0 {
		t.Errorf("%v %v", acp, err)
	}
	same, err := agentsettings.Apply(own, document(t, `{"agent_kind":"openhands","mcp_config":{"a":null},"llm":{"temperature":1}}`), schema.Reading{})
	if err != nil || same.Object("llm").Text("api_key") != "k" || same.Object("mcp_config").Len() != 0 {
		t.Errorf("%v %v", same, err)
	}
	if diff := cmp.Diff(before, text(t, own)); diff != "" {
		t.Errorf("the base was changed\n%s", diff)
	}
}

func TestPagesHaveEveryField(t *testing.T) {
	t.Parallel()
	page := text(t, agentsettings.AgentPage())
	for _, f := range spec.LLMSchema.Fields {
		if shown := strings.Contains(page, `"key":"llm.`+f.Name+`"`); shown != (f.Page != nil) {
			t.Errorf("%s is shown: %v", f.Name, shown)
		}
	}
	for _, part := range []string{`"key":"condenser.condenser_kind"`, `"depends_on":["verification.critic_enabled"]`, `"variant":"acp"`, `{"value":"no_op","label":"no_op"}`} {
		if !strings.Contains(page, part) {
			t.Errorf("no %s", part)
		}
	}
	if page = text(t, agentsettings.ConversationPage()); !strings.Contains(page, `"depends_on":["default_runtime=worktree","worktree_base=ref"]`) {
		t.Error("no dependency on a value")
	}
}
