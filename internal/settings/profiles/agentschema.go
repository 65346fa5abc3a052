package profiles

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/agentsettings"
	"github.com/deft-dev/deft/schema"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// agentVersion is the schema version of agent profiles.
const agentVersion = 4

var (
	zero, one = 0.0, 1.0
	atLeast0  = s.Bounds{GE: &zero}
	atLeast1  = s.Bounds{GE: &one}
	above0    = s.Bounds{GT: &zero}
	text      = s.Opt(s.String{})
	list      = s.List{Of: s.String{}}
)

// base has the fields that both kinds of profiles begin with.
func base(kind string) []s.Field {
	return []s.Field{
		{Name: "schema_version", Type: s.Int{Bounds: atLeast1}, Default: s.Count(agentVersion)},
		{Name: "agent_kind", Type: s.Enum{kind}, Default: kind},
		{Name: "id", Type: s.String{}, Default: func() any { return uuid.NewString() }},
		{Name: "name", Type: s.String{Min: 1}, Required: true},
		{Name: "revision", Type: s.Int{Bounds: atLeast0}, Default: s.Count(0)},
		{Name: "mcp_server_refs", Type: s.Opt(list)},
		{Name: "secret_refs", Type: s.Opt(list)},
	}
}

var agentSchema = s.Tagged{
	Key: "agent_kind", Default: "openhands", Order: []string{"openhands", "acp"},
	Of: map[string]*s.Object{"openhands": ownProfile, "acp": acpProfile},
}

var ownProfile = &s.Object{
	Name: "OpenHandsAgentProfile", Extra: s.Forbid, Before: refuseSwitches, After: finishTools,
	Fields: append(base("openhands"),
		s.Field{Name: "llm_profile_ref", Type: s.String{Min: 1}, Required: true},
		s.Field{Name: "agent", Type: s.String{}, Default: "CodeActAgent"},
		s.Field{Name: "tools", Type: s.Opt(s.List{Of: spec.ToolSchema})},
		s.Field{Name: "persona", Type: s.Opt(s.String{Min: 1, Max: 65536})},
		s.Field{Name: "system_message_suffix", Type: text},
		s.Field{Name: "disabled_skills", Type: list, Default: []any{}},
		s.Field{Name: "public_skills", Type: s.Opt(list)},
		s.Field{Name: "condenser", Type: agentsettings.CondenserSettings, Default: func() any { return agentsettings.CondenserSettings.Of["llm_summarizing"].Defaults() }},
		s.Field{Name: "verification", Type: agentsettings.VerificationPolicy, Default: agentsettings.VerificationPolicy},
		s.Field{Name: "enable_classify_and_switch_llm_tool", Type: s.Bool{}, Default: false},
		s.Field{Name: "meta_profile_ref", Type: s.Opt(s.String{Min: 1})},
		s.Field{Name: "tool_concurrency_limit", Type: s.Int{Bounds: atLeast1}, Default: s.Count(1)},
	),
}

var acpProfile = &s.Object{
	Name: "ACPAgentProfile", Extra: s.Forbid,
	Fields: append(base("acp"),
		s.Field{Name: "acp_server", Type: agentsettings.ACPServers, Default: "claude-code"},
		s.Field{Name: "acp_model", Type: text},
		s.Field{Name: "acp_session_mode", Type: text},
		s.Field{Name: "acp_prompt_timeout", Type: s.Number{Bounds: above0}, Default: s.Float(1800)},
		s.Field{Name: "acp_startup_timeout", Type: s.Number{Bounds: above0}, Default: s.Float(90)},
		s.Field{Name: "acp_command", Type: text},
		s.Field{Name: "acp_args", Type: s.Opt(list)},
	),
}

func refuseSwitches(m *s.Map) error {
	for _, k := range []string{"enable_sub_agents", "enable_switch_llm_tool"} {
		if _, ok := m.Lookup(k); ok {
			return fault.New(fault.Invalid, "Retired tool switches were removed; select tools instead.")
		}
	}
	return nil
}

func finishTools(m *s.Map) error {
	if tools, ok := m.Get("tools").([]any); ok {
		if err := spec.CheckBuiltins(tools); err != nil {
			return err
		}
		m.Set("tools", spec.MergeTools(tools))
	}
	return nil
}

// ValidateAgent returns an agent profile in its normal form, of older versions
// brought up to date. Errors are schema.Violations, or of kind Invalid for what
// no migration reads.
func ValidateAgent(m *s.Map) (*s.Map, error) {
	m = m.Copy()
	version := agentVersion
	switch v := m.Get("schema_version").(type) {
	case nil:
	case json.Number:
		i, err := v.Int64()
		if err != nil || i < 1 || i > agentVersion {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("AgentProfile schema_version %s is not supported.", v))
		}
		version = int(i)
	default:
		return nil, fault.New(fault.Invalid, "AgentProfile schema_version must be an integer.")
	}
	for ; version < agentVersion; version++ {
		migrateAgent(m, version)
	}
	m.Set("schema_version", s.Count(agentVersion))
	if id, ok := m.Lookup("id"); ok {
		parsed, err := uuid.Parse(fmt.Sprint(id))
		if err != nil {
			return nil, schema.Violations{{Type: "uuid_parsing", Loc: []any{"id"}, Msg: "Input should be a valid UUID"}}
		}
		m.Set("id", parsed.String())
	}
	out, err := s.Check(agentSchema, m, s.Reading{})
	if err != nil {
		return nil, err
	}
	doc, _ := out.(*s.Map)
	return doc, nil
}

func migrateAgent(m *s.Map, from int) {
	own := m.Get("agent_kind") == nil || m.Get("agent_kind") == "openhands"
	drop := func() { m.Delete("enable_sub_agents"); m.Delete("enable_switch_llm_tool") }
	switch from {
	case 1:
		m.Delete("skills")
		tools, _ := m.Get("tools").([]any)
		if own && m.Get("name") == Seed && revision(m) == 0 && tools != nil && len(tools) == 0 {
			m.Set("tools", nil)
		}
	case 2:
		if own {
			agentsettings.FoldSwitches(m)
		} else {
			drop()
		}
	case 3:
		drop()
	}
}
