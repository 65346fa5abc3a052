package launch_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

func document(t *testing.T, raw string) *schema.Map {
	t.Helper()
	v, err := schema.Parse([]byte(raw))
	must.Succeed(t, err)
	m, _ := v.(*schema.Map)
	return m
}

// setup saves one LLM profile and one meta-profile, and configures a server
// and a catalogue of skills.
func setup(t *testing.T) *launch.Stores {
	t.Helper()
	stores := profiles.Open(profiles.Options{Dir: t.TempDir()})
	l := spec.NewLLM("openai/gpt-5")
	l.APIKey = "sk-1"
	must.Succeed(t, stores.LLMs.Save(t.Context(), "fast", l, true))
	meta, err := agentsettings.MetaProfile.Check(document(t, `{"classifier_model":"fast","classes":[{"description":"d","model":"slow"}]}`), schema.Reading{})
	must.Succeed(t, err)
	must.Succeed(t, stores.Metas.Save(t.Context(), "router", meta))
	servers, err := schema.Check(spec.MCPServers, document(t, `{"a":{"command":"c"},"b":{"command":"d"}}`), schema.Reading{})
	must.Succeed(t, err)
	mcp, _ := servers.(*schema.Map)
	return &launch.Stores{
		LLMs: stores.LLMs, Agents: stores.Agents, Metas: stores.Metas, MCP: mcp, CriticKey: "sk-critic",
		Skills: func(context.Context) ([]*schema.Map, error) {
			return []*schema.Map{skill("own"), skill("public"), skill("off"), skill("rest")}, nil
		},
		PublicSkills: func(context.Context) ([]string, error) { return []string{"public", "off", "rest"}, nil },
	}
}

func skill(name string) *schema.Map { return schema.Of("name", name, "content", "c") }

func profile(t *testing.T, raw string) *schema.Map {
	t.Helper()
	p, err := profiles.ValidateAgent(document(t, raw))
	must.Succeed(t, err)
	return p
}

func TestProfileBecomesAnAgent(t *testing.T) {
	t.Parallel()
	stores := setup(t)
	p := profile(t, `{"name":"p","llm_profile_ref":"fast","tools":[{"name":"terminal"},{"name":"task_tool_set"}],"mcp_server_refs":["b","b"],
		"secret_refs":["A"],"disabled_skills":["off"],"public_skills":["public"],"system_message_suffix":"first","revision":3}`)
	r, err := launch.ResolveProfile(t.Context(), p, "", stores)
	must.Succeed(t, err)
	if !r.Profile.Allows("A") || r.Profile.Allows("B") || r.Profile.Revision != 3 || r.Profile.LLMProfile != nil {
		t.Errorf("record: %+v", r.Profile)
	}
	if key := r.Settings.Object("verification").Text("critic_api_key"); key != "sk-critic" {
		t.Errorf("critic key %q", key)
	}
	a, err := launch.Finalize(r, launch.Runtime{
		Memory: true, Suffixes: []string{" second ", ""},
		Skills: []*schema.Map{skill("own"), skill("off"), skill("new")},
	})
	must.Succeed(t, err)
	var names []string
	for _, s := range a.Doc().Object("agent_context").Get("skills").([]any) {
		names = append(names, spec.ToolName(s))
	}
	if diff := cmp.Diff([]string{"own", "public", "new"}, names); diff != "" {
		t.Errorf("skills\n%s", diff)
	}
	var tools []string
	for _, tool := range a.Tools {
		tools = append(tools, tool.Name)
	}
	if diff := cmp.Diff([]string{"terminal", "task_tool_set"}, tools); diff != "" {
		t.Errorf("tools\n%s", diff)
	}
	if scope := a.Tools[1].Params.Object("sub_agent_scope"); scope.Get("tools") != true {
		t.Errorf("sub-agents are not bound by the agent's tools: %v", scope)
	}
	if *a.Context.SystemMessageSuffix != "first\n\nsecond" || !a.Context.LoadMemory || *a.Context.CurrentDatetime == "" {
		t.Errorf("context: %+v", a.Context)
	}
	if !a.LLM.Stream || a.LLM.APIKey.Reveal() != "sk-1" || !slices.Equal(a.MCPServers.Keys(), []string{"b"}) {
		t.Errorf("llm %v, servers %v", a.LLM.Stream, a.MCPServers.Keys())
	}
	if c := a.Condenser; c == nil || c.LLM.UsageID != "condenser" || c.LLM.Stream {
		t.Errorf("condenser: %+v", a.Condenser)
	}
}

func TestAllDanglingReferencesAreReported(t *testing.T) {
	t.Parallel()
	stores := setup(t)
	p := profile(t, `{"name":"p","llm_profile_ref":"gone","mcp_server_refs":["x","a","y","x"],"enable_classify_and_switch_llm_tool":true,"meta_profile_ref":"router"}`)
	_, err := launch.ResolveProfile(t.Context(), p, "", stores)
	var own *launch.Error
	if !errors.As(err, &own) || !fault.Is(err, fault.Invalid) {
		t.Fatal(err)
	}
	gone := "gone"
	want := launch.DanglingReferences{
		Refusal: launch.Refusal{Code: "unresolved_profile_references", Message: "LLM profile 'gone' not found; MCP server(s) not configured: x, y; " +
			"LLM profile(s) routed to by the meta-profile not found: slow"},
		LLM: &gone, MCPServers: []string{"x", "y"}, MetaLLMs: []string{"slow"},
	}
	if diff := cmp.Diff(any(want), own.Detail()); diff != "" {
		t.Error(diff)
	}
}

func TestACP(t *testing.T) {
	t.Parallel()
	stores := setup(t)
	p := profile(t, `{"name":"p","agent_kind":"acp","acp_server":"custom","acp_command":"run 'two words' \"a\\\"b\" c\\ d"}`)
	r, err := launch.ResolveProfile(t.Context(), p, "", stores)
	must.Succeed(t, err)
	if diff := cmp.Diff([]any{"run", "two words", `a"b`, "c d"}, r.Settings.Get("acp_command")); diff != "" {
		t.Error(diff)
	}
	if a, err := launch.Finalize(r, launch.Runtime{}); err != nil || a.Kind != "ACPAgent" || len(a.Context.Skills) != 0 || a.Context.CurrentDatetime != nil {
		t.Errorf("%+v %v", a, err)
	}
	for _, raw := range []string{
		`{"name":"p","agent_kind":"acp","acp_server":"custom"}`,
		`{"name":"p","agent_kind":"acp","acp_command":"open 'quote"}`,
		`{"name":"p","agent_kind":"acp","acp_server":"codex","mcp_server_refs":["gone"]}`,
	} {
		var own *launch.Error
		if _, err := launch.ResolveProfile(t.Context(), profile(t, raw), "", stores); !errors.As(err, &own) || !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := launch.ResolveProfile(t.Context(), p, "fast", stores); err == nil {
		t.Error("an ACP profile took an LLM profile")
	}
}

func TestSourcesExcludeOneAnother(t *testing.T) {
	t.Parallel()
	for _, src := range []launch.Source{
		{}, {ProfileID: "x", Agent: schema.NewMap()}, {ProfileID: "x", Settings: schema.NewMap()}, {Settings: schema.NewMap(), LLMProfile: "x"},
		{Agent: schema.NewMap()}, {Settings: schema.Of("schema_version", "x")},
	} {
		var bad schema.Violations
		if _, err := launch.Resolve(t.Context(), src, nil); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", src, err)
		}
	}
}

// FuzzResolve starts agents of anything: an accepted request has a form that is
// accepted again.
func FuzzResolve(f *testing.F) {
	f.Add(`{"llm":{"model":"x"}}`, true)
	f.Add(`{"llm":{"model":"x"},"condenser":{"kind":"PipelineCondenser","condensers":[{"kind":"NoOpCondenser"}]}}`, true)
	f.Add(`{"llm":{"model":"x"},"tools":[{"name":"switch_llm","params":{"a":1}}],"condenser":{"max_size":20}}`, false)
	f.Add(`{"agent_kind":"acp","acp_server":"custom","acp_command":["x"]}`, false)
	f.Fuzz(func(t *testing.T, raw string, agent bool) {
		var doc schema.Map
		if doc.UnmarshalJSON([]byte(raw)) != nil {
			return
		}
		src := launch.Source{Settings: &doc}
		if agent {
			src = launch.Source{Agent: &doc}
		}
		r, err := launch.Resolve(t.Context(), src, nil)
		if err != nil {
			return
		}
		a, err := launch.Finalize(r, launch.Runtime{})
		if err != nil {
			return
		}
		out, err := a.JSON(schema.Writing{Mode: schema.Plain})
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if _, err := spec.DecodeAgent(out, schema.Reading{}); err != nil {
			t.Fatalf("%q became %s: %v", raw, out, err)
		}
	})
}
