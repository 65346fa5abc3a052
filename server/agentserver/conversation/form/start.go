package form

import (
	"errors"
	"slices"
	"strings"

	_ "github.com/deft-dev/deft/hook" // describes hook_config
	"github.com/deft-dev/deft/plugin/gitsource"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// Start is the body of a request for a conversation.
var Start = spec.Reference("StartConversationRequest", s.Object{Before: notBoth, After: checkSource},
	tags,
	s.Field{Name: "confirm", Type: s.Opt(presets)},
	s.Field{Name: "set_up", Type: s.Bool{}, Default: false},
	s.Field{Name: "observability_metadata", Type: blank(rest.CheckTraceMetadata, s.Any{})},
	s.Field{Name: "observability_tags", Type: blank(checkTraceTags, s.Any{})},
	s.Field{Name: "observability_span_name", Type: blank(rest.CheckSpanName, s.Any{})},
	// Checked when the agent is made of it, as agent_settings are.
	s.Field{Name: "agent", Type: s.Opt(&s.Object{Extra: s.Keep})},
)

func isNamed(m *s.Map) bool { return m.Get("agent_profile_id") != nil }
func isGiven(m *s.Map) bool { return m.Get("agent") != nil || m.Get("agent_settings") != nil }

// notBoth refuses two sources of an agent, or of the rule for confirmations, before all
// other checks.
func notBoth(m *s.Map) error {
	if isNamed(m) && isGiven(m) {
		return errors.New("agent_profile_id cannot be combined with agent or agent_settings")
	}
	if m.Get("confirm") != nil && (m.Get("confirmation_policy") != nil || m.Get("security_analyzer") != nil) {
		return errors.New("confirm cannot be combined with confirmation_policy or security_analyzer")
	}
	return nil
}

// checkSource requires one source of an agent.
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

var _ = spec.Reference("LocalWorkspace", s.Object{Before: func(m *s.Map) error {
	if kind := m.Get("kind"); kind != nil && kind != "LocalWorkspace" {
		return s.Violations{{Type: "assertion_error", Msg: "Assertion failed, a conversation of this server needs a LocalWorkspace"}}
	}
	return nil
}}, s.Field{Name: "working_dir", Type: s.String{Valid: func(dir string) error {
	if dir == "" || strings.ContainsRune(dir, 0) {
		return errors.New("working_dir is not a path")
	}
	return nil
}}}, s.Field{Name: "kind", Type: s.Any{}})

var _ = spec.Reference("ConversationWorktreeOptions", s.Object{After: func(m *s.Map) error {
	if m.Get("base") == "ref" && m.Get("ref") == nil {
		return errors.New("base 'ref' needs a ref")
	}
	return nil
}})

var _ = spec.Reference("ClientToolSpec", s.Object{}, s.Field{Name: "parameters", Type: s.Guarded{
	First: func(v any) error {
		if m, ok := v.(*s.Map); ok && m.Get("type") != "object" {
			return errors.New("the parameters of a client's tool must be a JSON Schema of the type object")
		}
		return nil
	},
	Of: s.Dict{Of: s.Any{}},
}})

var _ = spec.Reference("PluginSource", s.Object{}, s.Field{Name: "repo_path", Type: s.Opt(s.String{Valid: gitsource.CheckPath})})

func checkTraceTags(v any) error {
	list, ok := v.([]any)
	empty := func(one any) bool { name, ok := one.(string); return !ok || name == "" }
	if !ok || slices.ContainsFunc(list, empty) {
		return errors.New("tags of traces are a list of texts that are not empty")
	}
	return nil
}
