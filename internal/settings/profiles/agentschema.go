package profiles

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/agentsettings"
	"github.com/deft-dev/deft/internal/settings/filestore"
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

// ValidateAgent returns an agent profile in its normal form. Errors are
// s.Violations, or of kind Unsupported for another schema version.
func ValidateAgent(m *s.Map) (*s.Map, error) {
	if err := filestore.CheckVersion(m, "AgentProfile", agentVersion); err != nil {
		return nil, err
	}
	m = m.Copy()
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
