package spec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
	_ "github.com/deft-dev/deft/tool/builtin" // the tools under test
)

const full = `{"kind":"Agent","llm":{"model":"m","api_key":"s1"},"tools":[{"name":"terminal","params":{"a":1}}],
	"mcp_config":{"one":{"command":"c","env":{"K":"s2"}},"two":{"url":"u","auth":{"strategy":"basic","username":"n","password":"s3"},"enabled":false}},
	"agent_context":{"secrets":{"A":"s4","B":{"kind":"StaticSecret","value":"s5"}},"skills":[{"name":"k","content":"c","trigger":{"type":"keyword","keywords":["w"]}}]},
	"condenser":{"kind":"PipelineCondenser","condensers":[{"kind":"NoOpCondenser"},{"kind":"LLMSummarizingCondenser","llm":{"model":"n","api_key":"s6","stream":true}}]},
	"new_field":[1]}`

// TestRouterParameters holds that the keys of the LLMs that a tool routes to are secrets.
func TestRouterParameters(t *testing.T) {
	t.Parallel()
	a, err := spec.DecodeAgent([]byte(`{"kind":"Agent","llm":{"model":"m"},"tools":[{"name":"ClassifyAndSwitchLLMTool","params":{
		"active_meta_profile":"router","other":null,"meta_profile_llms":{"fast":{"model":"f","api_key":"hush"}}}},{"name":"terminal"}]}`), schema.Reading{})
	must.Succeed(t, err)
	if a.Tools[0].Params.Object("meta_profile_llms").Object("fast").Text("api_key") != "hush" {
		t.Errorf("params %v", a.Tools[0].Params)
	}
	raw, err := a.JSON(schema.Writing{})
	must.Succeed(t, err)
	if s := string(raw); strings.Contains(s, "hush") || !strings.Contains(s, `"other":null`) || !strings.Contains(s, `{"name":"terminal","params":{}}`) {
		t.Errorf("shown as %s", s)
	}
}

// TestIneffective: parts that are read and have no effect are found, so that a warning can name them.
func TestIneffective(t *testing.T) {
	t.Parallel()
	a, err := spec.DecodeAgent([]byte(`{"kind":"Agent","llm":{"model":"m"},"tools":[{"name":"start_child_conversation","params":{"launch_url":"https://example.com/?k=hush"}},
		{"name":"start_child_conversation"},{"name":"terminal","params":{"launch_url":"x"}}]}`), schema.Reading{})
	must.Succeed(t, err)
	for i, want := range []bool{true, false, false} {
		if got := a.Tools[i].Ineffective(); strings.Contains(got, "launch_url") != want || strings.Contains(got, "hush") {
			t.Errorf("tool %d: %q", i, got)
		}
	}
	for text, want := range map[string]bool{
		`{"kind":"NoOpCondenser"}`:                                                                           false,
		`{"kind":"LLMSummarizingCondenser","llm":{"model":"n"}}`:                                             true,
		`{"kind":"PipelineCondenser","condensers":[{"kind":"NoOpCondenser"}]}`:                               false,
		`{"kind":"PipelineCondenser","condensers":[{"kind":"LLMSummarizingCondenser","llm":{"model":"n"}}]}`: true,
	} {
		v, err := schema.Parse([]byte(text))
		must.Succeed(t, err)
		if m, _ := v.(*schema.Map); spec.NamesModel(m) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	a, err := spec.DecodeAgent([]byte(full), schema.Reading{})
	must.Succeed(t, err)
	if a.LLM.APIKey.Reveal() != "s1" || a.Tools[0].Params.Len() != 1 || a.MCPServers.Object("one").Object("env").Text("K") != "s2" ||
		a.MCPServers.Object("two").Object("auth").Text("password") != "s3" || a.MCPServers.Object("two").Get("enabled") != false || a.Context.Secrets.Text("A") != "s4" {
		t.Errorf("%+v", a)
	}
	if c := a.Condenser.Condensers[1]; c.LLM.APIKey.Reveal() != "s6" || c.LLM.Stream || c.MaxSize != 240 {
		t.Errorf("condenser %+v", c)
	}
	if diff := cmp.Diff([]string{"FinishTool", "ThinkTool"}, a.IncludeDefaultTools); diff != "" || a.SystemPromptKwargs["llm_security_analyzer"] != true {
		t.Errorf("defaults: %v\n%s", a.SystemPromptKwargs, diff)
	}
	ring := keyring.New("k")
	sealed, err := a.JSON(schema.Writing{Mode: schema.Sealed, Keys: ring})
	must.Succeed(t, err)
	masked, err := a.MarshalJSON()
	if err != nil || !strings.Contains(string(masked), `"new_field":[1]`) {
		t.Errorf("%s %v", masked, err)
	}
	for _, s := range []string{"s1", "s2", "s3", "s4", "s5", "s6"} {
		if strings.Contains(string(sealed), `"`+s+`"`) || strings.Contains(string(masked), `"`+s+`"`) {
			t.Errorf("%s is told", s)
		}
	}
	back, err := spec.DecodeAgent(sealed, schema.Reading{Keys: ring, Strict: true})
	must.Succeed(t, err)
	plain := func(a *spec.Agent) string {
		raw, err := a.JSON(schema.Writing{Mode: schema.Plain})
		must.Succeed(t, err)
		return string(raw)
	}
	if diff := cmp.Diff(plain(a), plain(back)); diff != "" {
		t.Error(diff)
	}
	other := spec.NewLLM("switched")
	if b, err := a.WithLLM(other); err != nil || b.LLM.Model != "switched" || a.LLM.Model != "m" || b.MCPServers.Len() != 2 {
		t.Errorf("switched: %v %v", b, err)
	}
}

// TestCondenserFollowsTheLLM switches a condenser with the agent's LLM if it
// had the same one.
func TestCondenserFollowsTheLLM(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ condenser, want string }{
		"the same":     {`{"kind":"LLMSummarizingCondenser","max_size":50,"llm":{"model":"m","api_key":"k","usage_id":"condenser"}}`, "switched"},
		"another key":  {`{"kind":"LLMSummarizingCondenser","llm":{"model":"m","api_key":"x","usage_id":"condenser"}}`, "m"},
		"in pipelines": {`{"kind":"PipelineCondenser","condensers":[{"kind":"LLMSummarizingCondenser","llm":{"model":"m","api_key":"k"}}]}`, ""},
		"none":         {`{"kind":"NoOpCondenser"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := spec.DecodeAgent([]byte(`{"llm":{"model":"m","api_key":"k","usage_id":"agent","stream":true},"condenser":`+c.condenser+`}`), schema.Reading{})
			must.Succeed(t, err)
			other := spec.NewLLM("switched")
			other.Stream = true
			b, err := a.WithLLM(other)
			if err != nil || b.LLM.Model != "switched" {
				t.Fatal(err)
			}
			got, l := "", b.Condenser.LLM
			if l != nil {
				if got = l.Model; l.UsageID != "condenser" || l.Stream {
					t.Errorf("the condenser's LLM is %+v", l)
				}
			}
			if got != c.want {
				t.Errorf("the condenser has %q, want %q", got, c.want)
			}
			if in := b.Condenser.Condensers; len(in) == 1 && in[0].LLM.Model != "m" {
				t.Errorf("a condenser in a pipeline has %s", in[0].LLM.Model)
			}
		})
	}
}

func TestRefusedAgents(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{}`, `{"llm":{"model":"m"},"kind":"Robot"}`, `{"llm":{"model":"m"},"tools":[{"name":" "}]}`, `{"llm":{"model":"m"},"tools":["terminal"]}`,
		`{"llm":{"model":"m"},"mcp_config":{"a":{"x":1}}}`, `{"llm":{"model":"m"},"condenser":{"kind":"Magic"}}`, `{"llm":{"model":"m"},"condenser":{}}`,
		`{"llm":{"model":"m"},"condenser":{"kind":"LLMSummarizingCondenser","llm":{"model":"m"},"max_size":4,"keep_first":2}}`,
		`{"llm":{"model":"m"},"agent_context":{"skills":[{"name":"a","content":"x"},{"name":"a","content":"y"}]}}`,
		`{"llm":{"model":"m"},"agent_context":{"secrets":{"A":{"kind":"Cave"}}}}`, `{"llm":{"model":"m"},"tool_concurrency_limit":0}`,
	} {
		var bad schema.Violations
		if _, err := spec.DecodeAgent([]byte(raw), schema.Reading{}, "body", "agent"); !errors.As(err, &bad) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	list := func(names ...string) []any {
		out := []any{}
		for _, n := range names {
			out = append(out, spec.NewTool(n))
		}
		return out
	}
	names := func(tools []any) []string {
		out := []string{}
		for _, one := range tools {
			out = append(out, spec.ToolName(one))
		}
		return out
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"nothing chosen", names(spec.LaunchTools(nil, spec.Preset{})), []string{"terminal", "file_editor", "task_tracker", "switch_llm"}},
		{"with sub-agents", names(spec.LaunchTools(nil, spec.Preset{SubAgents: true})), []string{"terminal", "file_editor", "task_tracker", "task_tool_set", "switch_llm"}},
		{"of a preset", names(spec.LaunchTools(nil, spec.Preset{Name: "gpt5", SubAgents: true})), []string{"terminal", "apply_patch", "task_tracker", "task_tool_set", "switch_llm"}},
		{"of a preset that is not known", names(spec.LaunchTools(nil, spec.Preset{Name: "future"})), []string{"terminal", "file_editor", "task_tracker", "switch_llm"}},
		{"more", names(spec.LaunchTools(nil, spec.Preset{More: []string{"ipython", "browser_tool_set", "removed"}})), []string{"terminal", "file_editor", "ipython", "browser_tool_set", "task_tracker", "switch_llm"}},
		{"chosen", names(spec.LaunchTools(list("glob", "browser_tool_set"), spec.Preset{More: []string{"ipython"}})), []string{"glob", "browser_tool_set"}},
		{"no browser", names(spec.LaunchTools(list("browser_tool_set", "grep"), spec.Preset{NoBrowser: true})), []string{"grep"}},
		{"none", names(spec.LaunchTools([]any{}, spec.Preset{})), []string{}},
		{"twice", names(spec.MergeTools(list("SwitchLLMTool", "switch_llm", "grep", "grep"))), []string{"switch_llm", "grep"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s\n%s", c.what, diff)
		}
	}
	tools, builtin := spec.SplitTools(list("think", "switch_llm", "grep"))
	if diff := cmp.Diff([]any{"FinishTool", "ThinkTool", "SwitchLLMTool"}, builtin); diff != "" || len(tools) != 1 {
		t.Errorf("%v\n%s", names(tools), diff)
	}
	if err := spec.CheckBuiltins([]any{schema.Of("name", "finish", "params", schema.Of("a", 1))}); err == nil {
		t.Error("finish took parameters")
	}
}

// TestCondensersOfAnAgent refuses what no condenser is, and fills in defaults.
func TestCondensersOfAnAgent(t *testing.T) {
	t.Parallel()
	for condenser, want := range map[string]string{
		`{"kind":"MoonCondenser"}`: "the kind 'MoonCondenser' is none of LLMSummarizingCondenser, NoOpCondenser",
		`{}`:                       "the kind '' is none of",
		`{"kind":"PipelineCondenser","condensers":[{"kind":"LLMAttentionCondenser"}]}`: "Field required",
		`{"kind":"RecentEventsCondenser","max_events":1}`:                              "Input should be greater than or equal to 2",
		`{"kind":"AmortizedForgettingCondenser","max_size":6,"keep_first":2}`:          "Value error, keep_first must be less than max_size // 2 - 1",
		`{"kind":"RecentEventsCondenser"}`:                                             `{"keep_first":1,"max_events":100,"kind":"RecentEventsCondenser"}`,
		`{"kind":"LLMAttentionCondenser","llm":{"model":"m","stream":true}}`:           `"keep_first":1,"max_size":100,"kind":"LLMAttentionCondenser"}`,
	} {
		a, err := spec.DecodeAgent([]byte(`{"llm":{"model":"m"},"condenser":`+condenser+`}`), schema.Reading{})
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", condenser, err, want)
			}
			continue
		}
		raw, err := a.JSON(schema.Writing{})
		must.Succeed(t, err)
		if !strings.Contains(string(raw), want) || a.Condenser.LLM != nil && a.Condenser.LLM.Stream {
			t.Errorf("%s: %s, want %s", condenser, raw, want)
		}
	}
}

// TestReadMCPTools reads the servers of microagents, and refuses the ones that V0 does not start.
func TestReadMCPTools(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"stdio_servers":[{"name":"db","command":"x"}]}`: "db",
		`{"mcpServers":{"db":{"command":"x"}}}`:           "db",
		`{"stdio_servers":[{"command":"x"}]}`:             "entry 1 has no name",
		`{"sse_servers":[{"url":"http://127.0.0.1:1"}]}`:  "sse_servers of a microagent are not started",
		`{"shttp_servers":["http://127.0.0.1:1"],"x":{}}`: "shttp_servers of a microagent are not started",
		`{"sse_servers":[],"stdio_servers":[]}`:           "",
	} {
		servers, err := spec.ReadMCPTools([]byte(raw))
		got := strings.Join(servers.Keys(), " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
