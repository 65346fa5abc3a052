package form

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/schema"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

var (
	zero, one = 0.0, 1.0
	leastCPU  = 0.01
)

var start = &s.Object{
	Name: "StartConversationRequest", Before: notBoth, After: checkSource,
	Fields: []s.Field{
		{Name: "workspace", Type: workspace, Required: true},
		{Name: "worktree", Type: flag},
		{Name: "worktree_options", Type: s.Opt(worktreeOptions)},
		{Name: "conversation_id", Type: s.Opt(s.UUID{})},
		{Name: "parent_conversation_id", Type: s.Opt(s.UUID{})},
		{Name: "confirmation_policy", Type: policy},
		{Name: "security_analyzer", Type: s.Opt(analyzer)},
		{Name: "initial_message", Type: s.Opt(message)},
		{Name: "max_iterations", Type: s.Int{Bounds: s.Bounds{GE: &one}}},
		{Name: "stuck_detection", Type: flag},
		{Name: "secrets", Type: s.Dict{Of: spec.SecretSourceSchema}},
		{Name: "secrets_encrypted", Type: flag},
		{Name: "tool_module_qualnames", Type: s.Dict{Of: s.String{}}},
		{Name: "client_tools", Type: s.List{Of: clientTool}},
		{Name: "agent_launch_additions", Type: s.Opt(additions)},
		{Name: "agent_definitions", Type: s.List{Of: definition}},
		{Name: "plugins", Type: s.Opt(s.List{Of: plugin})},
		{Name: "hook_config", Type: s.Opt(hook.Schema)},
		{Name: "tags", Type: tags},
		{Name: "user_id", Type: text},
		{Name: "observability_metadata", Type: blank(checkMetadata, s.Any{})},
		{Name: "observability_tags", Type: blank(checkMarks, s.Any{})},
		{Name: "observability_span_name", Type: blank(checkSpan, s.Any{})},
		{Name: "observability_parent_span_context", Type: text},
		{Name: "autotitle", Type: flag},
		{Name: "title_llm_profile", Type: text},
		{Name: "prompt", Type: s.Opt(s.String{Max: 2000})},
		{Name: "agent", Type: s.Unread{}},
		{Name: "agent_settings", Type: s.Unread{}},
		{Name: "agent_profile_id", Type: s.Opt(s.UUID{})},
		{Name: "conversation_runtime", Type: s.Opt(s.Enum{"local", "docker"})},
		{Name: "container", Type: s.Opt(container)},
	},
}

func isNamed(m *s.Map) bool { return m.Get("agent_profile_id") != nil }
func isGiven(m *s.Map) bool { return m.Get("agent") != nil || m.Get("agent_settings") != nil }

// notBoth is said before all else.
func notBoth(m *s.Map) error {
	if isNamed(m) && isGiven(m) {
		return errors.New("agent_profile_id cannot be combined with agent or agent_settings")
	}
	return nil
}

// checkSource holds that something says what the agent is.
func checkSource(m *s.Map) error {
	switch {
	case isNamed(m):
	case !isGiven(m):
		return errors.New("one of agent, agent_settings or agent_profile_id is required")
	case m.Object("agent_launch_additions").Text("llm_profile_ref") != "":
		return errors.New("agent_launch_additions.llm_profile_ref needs an agent_profile_id")
	}
	return nil
}

var workspace = &s.Object{
	Name: "LocalWorkspace", Before: func(m *s.Map) error {
		if kind := m.Get("kind"); kind != nil && kind != "LocalWorkspace" {
			return schema.Violations{{Type: "assertion_error", Msg: "Assertion failed, a conversation of this server needs a LocalWorkspace"}}
		}
		return nil
	},
	Fields: []s.Field{{Name: "working_dir", Type: s.String{Valid: func(dir string) error {
		if dir == "" || strings.ContainsRune(dir, 0) {
			return errNotPath
		}
		return nil
	}}, Required: true}},
}

var worktreeOptions = &s.Object{
	Name: "ConversationWorktreeOptions", Extra: s.Forbid,
	Fields: []s.Field{
		{Name: "base", Type: s.Enum{"default_branch", "head", "ref"}, Default: "default_branch"},
		{Name: "ref", Type: s.Opt(s.String{Pattern: worktree.RefForm})},
		{Name: "branch_prefix", Type: s.String{Pattern: regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._/-]*)?$`)}},
	},
	After: func(m *s.Map) error {
		if m.Get("base") == "ref" && m.Get("ref") == nil {
			return errors.New("base 'ref' needs a ref")
		}
		return nil
	},
}

var container = &s.Object{
	Name: "ConversationContainerOptions", Extra: s.Forbid,
	Fields: []s.Field{
		{Name: "memory", Type: s.Opt(s.String{Pattern: regexp.MustCompile(`^\d+(\.\d+)? ?[kKmMgGtTpP]?[iI]?[bB]?$`)})},
		{Name: "cpus", Type: s.Opt(s.Number{Bounds: s.Bounds{GE: &leastCPU}})},
		{Name: "browser", Type: flag},
	},
}

var clientTool = &s.Object{
	Name: "ClientToolSpec",
	Fields: []s.Field{
		{Name: "name", Type: s.String{}, Required: true},
		{Name: "description", Type: s.String{}, Required: true},
		{Name: "parameters", Type: s.Guarded{First: func(v any) error {
			if m, ok := v.(*s.Map); ok && m.Get("type") != "object" {
				return errors.New("the parameters of a client's tool must be a JSON Schema of the type object")
			}
			return nil
		}, Of: s.Dict{Of: s.Any{}}}},
	},
}

var additions = &s.Object{
	Name: "AgentLaunchAdditions", Extra: s.Forbid,
	Fields: []s.Field{
		{Name: "system_message_suffix_append", Type: s.Opt(s.String{Max: 32768})},
		{Name: "skills", Type: s.Opt(s.List{Of: spec.SkillSchema})},
		{Name: "llm_profile_ref", Type: s.Opt(s.String{Min: 1})},
	},
}

var tagKey = regexp.MustCompile(`^[a-z0-9]+$`)

func checkTags(v any) error {
	m, ok := v.(*s.Map)
	if !ok {
		return nil
	}
	for _, key := range m.Keys() {
		if !tagKey.MatchString(key) {
			return fmt.Errorf("Tag key '%s' is invalid: keys must be lowercase alphanumeric only", key) //nolint:staticcheck // an answer's words
		}
		if value, ok := m.Get(key).(string); ok && utf8.RuneCountInString(value) > 256 {
			return fmt.Errorf("Tag value for '%s' exceeds 256 characters", key) //nolint:staticcheck // an answer's words
		}
	}
	return nil
}

var spanName = regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,128}$`)

func checkSpan(v any) error {
	if name, ok := v.(string); ok && spanName.MatchString(name) {
		return nil
	}
	return errors.New("a span is named by 1 to 128 letters, digits and the marks . _ : / -")
}

func checkMarks(v any) error {
	list, ok := v.([]any)
	empty := func(one any) bool { name, ok := one.(string); return !ok || name == "" }
	if !ok || slices.ContainsFunc(list, empty) {
		return errors.New("tags of traces are a list of texts that are not empty")
	}
	return nil
}
