package profiles

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/agentsettings"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// agentVersion is the schema version of agent profiles.
const agentVersion = 4

var agentSchema = s.Tagged{
	Key: "agent_kind", Default: "openhands", Order: []string{"openhands", "acp"},
	Of: map[string]*s.Object{
		"openhands": spec.Reference("OpenHandsAgentProfile", s.Object{Before: refuseSwitches, After: finishTools}, profileID,
			s.Field{Name: "condenser", Type: agentsettings.CondenserSettings}),
		"acp": spec.Reference("ACPAgentProfile", s.Object{}, profileID),
	},
}

// profileID is checked, and written with dashes, by [ValidateAgent].
var profileID = s.Field{Name: "id", Type: s.String{}, Default: func() any { return uuid.NewString() }}

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
// brought up to date. Errors are s.Violations, or of kind Invalid for what
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
			return nil, s.Violations{{Type: "uuid_parsing", Loc: []any{"id"}, Msg: "Input should be a valid UUID"}}
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
