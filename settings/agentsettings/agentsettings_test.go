package agentsettings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

func document(t *testing.T, raw string) *schema.Map {
	t.Helper()
	v, err := schema.Parse([]byte(raw))
	must.Succeed(t, err)
	m, _ := v.(*schema.Map)
	return m
}

func text(t *testing.T, v any) string {
	t.Helper()
	raw, err := schema.Encode(v)
	must.Succeed(t, err)
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
	must.Succeed(t, err)
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

// TestChangeOfCondenser: another kind begins with its own defaults, and is on or off as before.
func TestChangeOfCondenser(t *testing.T) {
	t.Parallel()
	m, err := agentsettings.Validate(document(t, `{"llm":{"model":"m"},"condenser":{"condenser_kind":"observation_masking"}}`), schema.Reading{})
	must.Succeed(t, err)
	for _, c := range []struct{ diff, want string }{
		{`{"enabled":false,"attention_window":50}`, "none"},
		{`{"condenser_kind":"browser_output_masking"}`, "none"},
		{`{"enabled":true}`, "BrowserOutputCondenser 1"},
		{`{"condenser_kind":"amortized","keep_first":7}`, "AmortizedForgettingCondenser 100 7"},
		{`{"condenser_kind":"amortized","max_size":60}`, "AmortizedForgettingCondenser 60 7"},
		{`{"condenser_kind":"recent","max_events":60}`, "RecentEventsCondenser 60 1"},
	} {
		m, err = agentsettings.Apply(m, document(t, `{"condenser":`+c.diff+`}`), schema.Reading{})
		must.Succeed(t, err)
		a, err := agentsettings.Agent(m, spec.Preset{})
		must.Succeed(t, err)
		got := described(a.Condenser)
		if a.Condenser != nil && a.Condenser.KeepFirst > 0 {
			got += fmt.Sprint(" ", a.Condenser.KeepFirst)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.diff, got, c.want)
		}
	}
}

// TestCondensers makes the condenser of an agent from each kind of settings.
func TestCondensers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ settings, want string }{
		{`{}`, "LLMSummarizingCondenser m/condenser 240"},
		{`{"enabled":false}`, "none"},
		{`{"condenser_kind":"no_op"}`, "NoOpCondenser"},
		{`{"condenser_kind":"recent","max_events":30}`, "RecentEventsCondenser 30"},
		{`{"condenser_kind":"amortized","max_size":50,"max_tokens":null}`, "AmortizedForgettingCondenser 50"},
		{`{"condenser_kind":"observation_masking"}`, "ObservationMaskingCondenser 100"},
		{`{"condenser_kind":"browser_output_masking","attention_window":3}`, "BrowserOutputCondenser 3"},
		{`{"condenser_kind":"llm_attention"}`, "LLMAttentionCondenser m/condenser 100"},
		{`{"condenser_kind":"structured"}`, "StructuredSummaryCondenser m/condenser 100"},
		{`{"condenser_kind":"conversation_window"}`, "ConversationWindowCondenser"},
		{`{"condenser_kind":"pipeline","condensers":[{"condenser_kind":"recent"},{"condenser_kind":"llm_attention","enabled":false},
			{"condenser_kind":"pipeline","condensers":[{"condenser_kind":"llm_summarizing"}]}]}`, "PipelineCondenser [RecentEventsCondenser 100, PipelineCondenser [LLMSummarizingCondenser m/condenser 240]]"},
		{`{"condenser_kind":"moon"}`, "Input tag 'moon' found"},
		{`{"condenser_kind":"recent","max_events":5,"keep_first":5}`, "Value error, keep_first must be less than max_events - 1"},
		{`{"condenser_kind":"structured","max_size":6,"keep_first":2}`, "Value error, keep_first must be less than max_size // 2 - 1"},
		{`{"condenser_kind":"observation_masking","attention_window":0}`, "Input should be greater than or equal to 1"},
		{`{"condenser_kind":"pipeline"}`, "Field required"},
		{`{"condenser_kind":"pipeline","condensers":[{"kind":"RecentEventsCondenser"}]}`, "Unable to extract tag using discriminator 'condenser_kind'"},
	} {
		m, err := agentsettings.Validate(document(t, `{"llm":{"model":"m"},"condenser":`+c.settings+`}`), schema.Reading{})
		if err != nil {
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.settings, err, c.want)
			}
			continue
		}
		a, err := agentsettings.Agent(m, spec.Preset{})
		must.Succeed(t, err)
		if got := described(a.Condenser); got != c.want {
			t.Errorf("%s: %s, want %s", c.settings, got, c.want)
		}
	}
}

func described(c *spec.Condenser) string {
	if c == nil {
		return "none"
	}
	text := c.Kind
	if c.LLM != nil {
		text += " " + c.LLM.Model + "/" + c.LLM.UsageID
	}
	if n := max(c.MaxSize, c.MaxEvents, c.AttentionWindow); n > 0 {
		text += fmt.Sprint(" ", n)
	}
	if c.Condensers != nil {
		var parts []string
		for _, p := range c.Condensers {
			parts = append(parts, described(p))
		}
		text += " [" + strings.Join(parts, ", ") + "]"
	}
	return text
}
