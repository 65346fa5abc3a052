package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation/form"
)

// locations are the violations of an error, each as its type and its location.
func locations(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	bad, ok := errors.AsType[schema.Violations](err)
	if !ok {
		t.Fatal(err)
	}
	out := make([]string, len(bad))
	for i, one := range bad {
		parts := make([]string, len(one.Loc))
		for j, part := range one.Loc {
			parts[j] = fmt.Sprint(part)
		}
		out[i] = one.Type + " " + strings.Join(parts, ".")
	}
	return strings.Join(out, "; ")
}

// TestStart has the answers of the reference's model to the same requests on
// 2026-11-21; without a working_dir it fails.
func TestStart(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]string{
		`"agent":{}`:   "",
		`"agent":null`: "value_error body", `"agent":null,"agent_profile_id":"00c99065547642c1b1a4c565ba69dbbe"`: "",
		`"agent_profile_id":"x"`: "value_error body", `"agent":null,"agent_profile_id":5`: "uuid_type body.agent_profile_id",
		`"workspace":null`: "model_attributes_type body.workspace", `"workspace":"/x"`: "model_attributes_type body.workspace",
		`"workspace":{"working_dir":"/x","kind":"RemoteWorkspace"}`: "assertion_error body.workspace",
		`"workspace":{}`:                "missing body.workspace.working_dir",
		`"worktree":null`:               "bool_type body.worktree",
		`"worktree":"maybe"`:            "bool_parsing body.worktree",
		`"worktree":1.5`:                "bool_type body.worktree",
		`"conversation_id":""`:          "uuid_parsing body.conversation_id",
		`"max_iterations":0,"prompt":5`: "greater_than_equal body.max_iterations; string_type body.prompt",
		`"max_iterations":1.5`:          "int_from_float body.max_iterations",
		`"conversation_runtime":"moon"`: "literal_error body.conversation_runtime",

		`"worktree_options":{"base":"tail"}`:                   "literal_error body.worktree_options.base",
		`"worktree_options":{"base":"ref"}`:                    "value_error body.worktree_options",
		`"worktree_options":{"ref":"a b"}`:                     "string_pattern_mismatch body.worktree_options.ref",
		`"worktree_options":{"branch_prefix":"-"}`:             "string_pattern_mismatch body.worktree_options.branch_prefix",
		`"worktree_options":{"x":1}`:                           "extra_forbidden body.worktree_options.x",
		`"container":{"memory":"1g","cpus":2,"browser":false}`: "",
		`"container":{"memory":"much","cpus":0,"x":1}`:         "string_pattern_mismatch body.container.memory; greater_than_equal body.container.cpus; extra_forbidden body.container.x",

		`"confirmation_policy":null`:                                          "model_attributes_type body.confirmation_policy",
		`"confirmation_policy":{"kind":"Nobody"}`:                             "value_error body.confirmation_policy",
		`"confirmation_policy":{"kind":"ConfirmRisky","threshold":"SOME"}`:    "enum body.confirmation_policy.threshold",
		`"confirmation_policy":{"kind":"ConfirmRisky","threshold":"UNKNOWN"}`: "value_error body.confirmation_policy.threshold",
		`"security_analyzer":null`:                                            "",
		`"security_analyzer":{"kind":null}`:                                   "value_error body.security_analyzer",
		`"secrets":{"A":"plain"}`:                                             "model_attributes_type body.secrets.A",
		`"secrets":{"A":{"kind":"LookupSecret"}}`:                             "missing body.secrets.A.url",
		`"secrets":{"A":{"value":"v"}}`:                                       "value_error body.secrets.A",
		`"client_tools":[{"name":"a","parameters":{"type":"array"}}]`:         "missing body.client_tools.0.description; value_error body.client_tools.0.parameters",
		`"tags":{"A":"b"}`:                                                    "value_error body.tags",
		`"tags":{"a":["b"]}`:                                                  "string_type body.tags.a",
		`"tags":{"a":"` + strings.Repeat("x", 257) + `"}`:                     "value_error body.tags",
		`"tool_module_qualnames":{"a":1}`:                                     "string_type body.tool_module_qualnames.a",

		`"initial_message":{"role":"nobody"}`:                                   "literal_error body.initial_message.role",
		`"initial_message":{"content":[{"text":"x","enable_truncation":true}]}`: "",
		`"initial_message":{"content":[{"type":"image"}]}`: "literal_error body.initial_message.content.0.TextContent.type; " +
			"missing body.initial_message.content.0.TextContent.text; missing body.initial_message.content.0.ImageContent.image_urls",
		`"initial_message":{"content":[{"text":"x","y":1}]}`: "extra_forbidden body.initial_message.content.0.TextContent.y; missing body.initial_message.content.0.ImageContent.image_urls",

		`"observability_metadata":{"a":"x","b":[1,2],"c":[],"d":[1.5]}`: "", `"observability_metadata":null,"observability_tags":null,"observability_span_name":null`: "",
		`"observability_metadata":[]`:             "value_error body.observability_metadata",
		`"observability_metadata":{"a":null}`:     "value_error body.observability_metadata",
		`"observability_metadata":{"a":[1,1.5]}`:  "value_error body.observability_metadata",
		`"observability_metadata":{"a":[true,1]}`: "value_error body.observability_metadata",
		`"observability_metadata":{"":1}`:         "value_error body.observability_metadata",
		`"observability_tags":["a",""]`:           "value_error body.observability_tags",
		`"observability_span_name":"a b"`:         "value_error body.observability_span_name",
		`"observability_span_name":""`:            "value_error body.observability_span_name",
		`"observability_parent_span_context":1`:   "string_type body.observability_parent_span_context",

		`"plugins":[{"source":"github:a/b","ref":null,"repo_path":"a/b"}]`: "",
		`"plugins":[{}]`: "missing body.plugins.0.source",
		`"plugins":[{"source":"a","repo_path":"/b"}]`:     "value_error body.plugins.0.repo_path",
		`"plugins":[{"source":"a","repo_path":"a/../b"}]`: "value_error body.plugins.0.repo_path",

		`"hook_config":{"PreToolUse":[{"hooks":[{"command":"true"}]}]}`:         "",
		`"hook_config":{"hooks":{"stop":[{"matcher":5}]}}`:                      "string_type body.hook_config.stop.0.matcher",
		`"hook_config":{"PreTool":[]}`:                                          "value_error body.hook_config",
		`"hook_config":{"pre_tool":[]}`:                                         "extra_forbidden body.hook_config.pre_tool",
		`"hook_config":{"Stop":[],"stop":[]}`:                                   "value_error body.hook_config",
		`"hook_config":{"stop":[{"hooks":[{"type":"wish"}]}]}`:                  "enum body.hook_config.stop.0.hooks.0.type",
		`"hook_config":{"stop":[{"hooks":[{}]}]}`:                               "value_error body.hook_config.stop.0.hooks.0",
		`"hook_config":{"stop":[{"hooks":[{"type":"prompt","prompt":"p"}]}]}`:   "",
		`"hook_config":{"stop":[{"hooks":[{"type":"agent","async":true}]}]}`:    "value_error body.hook_config.stop.0.hooks.0",
		`"hook_config":{"stop":[{"hooks":[{"command":"c","timeout":"soon"}]}]}`: "int_parsing body.hook_config.stop.0.hooks.0.timeout",

		`"agent_definitions":[{"name":"a","level":"user","hooks":{"stop":[]},"condenser":{"kind":"NoOpCondenser"},"metadata":{"a":1}}]`: "",
		`"agent_definitions":null`: "list_type body.agent_definitions",
		`"agent_definitions":[{"level":"moon","max_iteration_per_run":0}]`:                               "missing body.agent_definitions.0.name; literal_error body.agent_definitions.0.level; greater_than body.agent_definitions.0.max_iteration_per_run",
		`"agent_definitions":[{"name":"a","condenser":{"kind":"RecentEventsCondenser","max_events":0}}]`: "greater_than_equal body.agent_definitions.0.condenser.max_events",
		`"agent_definitions":[{"name":"a","condenser":{}}]`:                                              "value_error body.agent_definitions.0.condenser",
		`"agent_definitions":[{"name":"a","mcp_config":{"m":{"x":1}}}]`:                                  "extra_forbidden body.agent_definitions.0.mcp_config.m.x",

		`"agent_launch_additions":{"skills":[{"name":"s","content":"c","allowed_tools":["a",1]}]}`:   "",
		`"agent_launch_additions":{"skills":[{"name":"s","content":"c","trigger":{"keywords":[]}}]}`: "union_tag_not_found body.agent_launch_additions.skills.0.trigger",
		`"agent_launch_additions":{"skills":[{"name":"s","content":"c","trigger":{"type":1}}]}`:      "union_tag_invalid body.agent_launch_additions.skills.0.trigger",
		`"agent_launch_additions":{"skills":[{"name":"s","content":"c","trigger":{"type":"path"}}]}`: "missing body.agent_launch_additions.skills.0.trigger.path.paths",
		`"agent_launch_additions":{"llm_profile_ref":"p"}`:                                           "value_error body",
		`"agent_launch_additions":{"llm_profile_ref":""}`:                                            "string_too_short body.agent_launch_additions.llm_profile_ref",
	} {
		body := map[string]json.RawMessage{"workspace": json.RawMessage(`{"working_dir":"/x"}`), "agent": json.RawMessage(`{"kind":"Agent"}`)}
		if err := json.Unmarshal([]byte("{"+more+"}"), &body); err != nil {
			t.Fatal(more, err)
		}
		raw, err := json.Marshal(body)
		must.Succeed(t, err)
		if d := cmp.Diff(want, locations(t, fits(form.Start, string(raw)))); d != "" {
			t.Errorf("%s (-want +got):\n%s", more, d)
		}
	}
	if got := locations(t, fits(form.Start, "[]")); got != "model_attributes_type body" {
		t.Errorf("a list: %s", got)
	}
}

// fits checks a body as package rest does; invalid JSON is refused there.
func fits(form *schema.Object, body string) error {
	if !json.Valid([]byte(body)) {
		return nil
	}
	doc, err := schema.Parse([]byte(body))
	if err == nil {
		_, err = form.Check(doc, schema.Reading{}, "body")
	}
	return err
}

// TestOthers has the other bodies.
func TestOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		form *schema.Object
		says map[string]string
	}{
		"patch":  {form.Patch, map[string]string{`{"title":"","tags":{"a":5}}`: "string_too_short body.title; string_type body.tags.a", `{"title":null,"tags":null}`: ""}},
		"fork":   {form.Fork, map[string]string{`{"id":"x","reset_metrics":null}`: "uuid_parsing body.id; bool_type body.reset_metrics", `{}`: "", `[]`: "model_attributes_type body"}},
		"child":  {form.Child, map[string]string{`{"isolation":null}`: "missing body.task; literal_error body.isolation", `{"task":""}`: "string_too_short body.task"}},
		"goal":   {form.Goal, map[string]string{`{"objective":null,"max_iterations":0}`: "string_type body.objective; greater_than_equal body.max_iterations"}},
		"ask":    {form.Question, map[string]string{`{}`: "missing body.question"}},
		"secret": {form.Secrets, map[string]string{`{"secrets":{"A":"x","B":{"value":"y"},"C":{}}}`: "value_error body.secrets.C", `{"secrets":null}`: "dict_type body.secrets"}},
		"policy": {form.Policy, map[string]string{`{"policy":{"kind":"ConfirmRisky","confirm_unknown":-1}}`: "bool_parsing body.policy.confirm_unknown", `{"policy":null}`: "model_attributes_type body.policy"}},
		"risks": {form.Analyzer, map[string]string{`{"security_analyzer":null}`: "", `{"security_analyzer":{"kind":"InvariantAnalyzer","api_url":"http://x"}}`: "",
			`{"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"HTTPSecurityAnalyzer","url":"http://x","api_key":"k"}]}}`: "",
			`{"security_analyzer":{"kind":"HTTPSecurityAnalyzer"}}`:                                                                                  "missing body.security_analyzer.url",
			`{}`: "missing body.security_analyzer", `{"security_analyzer":{"kind":1}}`: "value_error body.security_analyzer"}},
		"accept": {form.Accepting, map[string]string{`{"accept":null,"reason":null}`: "bool_type body.accept; string_type body.reason"}},
	} {
		for body, want := range c.says {
			if d := cmp.Diff(want, locations(t, fits(c.form, body))); d != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, body, d)
			}
		}
	}
	if got := locations(t, fits(form.Message, `{"content":{},"run":null}`)); got != "list_type body.content; bool_type body.run" {
		t.Errorf("message: %s", got)
	}
}

func FuzzStart(f *testing.F) {
	f.Add([]byte(`{"workspace":{},"hook_config":{"hooks":{"Stop":[{}]}},"observability_metadata":{"a":[]}}`))
	f.Add([]byte(`{"agent_profile_id":[],"tags":{"a":{}},"secrets":{"":{"kind":""}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if strings.Count(string(raw), "[")+strings.Count(string(raw), "{") > 128 {
			return // nested too deeply, which package rest reports
		}
		if err := fits(form.Start, string(raw)); err != nil && locations(t, err) == "" {
			t.Errorf("%q is refused without a location", raw)
		}
	})
}
