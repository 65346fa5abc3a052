package agentsettings

import (
	"regexp"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Version is the schema version of agent settings that is written.
const Version = 9

// OpenHands describes settings of the built-in agent.
var OpenHands = spec.Reference("OpenHandsAgentSettings", s.Object{Before: refuseRemoved},
	s.Field{Name: "condenser", Type: CondenserSettings, Default: summarizing},
)

// MetaProfile describes how tasks are routed to models.
var MetaProfile = spec.Reference("MetaProfile", s.Object{After: CheckMeta})

var instanceText = regexp.MustCompile(`{{\s*instance_text\s*}}`)

// CheckMeta refuses a meta-profile that both has classes and routes directly.
func CheckMeta(m *s.Map) error {
	template, ok := m.Get("prompt_template").(string)
	classes, _ := m.Get("classes").([]any)
	switch {
	case !ok:
		return nil
	case !instanceText.MatchString(template):
		return fault.New(fault.Invalid, "Direct-routing meta-profiles must include {{ instance_text }} in prompt_template.")
	case len(classes) > 0:
		return fault.New(fault.Invalid, "Direct-routing meta-profiles cannot also define classes.")
	}
	return nil
}

// CondenserSettings describes what shortens the agent's history.
var CondenserSettings = s.Tagged{
	Key: "condenser_kind", Default: "llm_summarizing", Order: []string{"llm_summarizing", "no_op"},
	Of: map[string]*s.Object{"llm_summarizing": summarizing, "no_op": spec.Reference("NoOpCondenserSettings", s.Object{})},
}

// The pages offer both kinds of condensers.
var summarizing = spec.Reference("LLMSummarizingCondenserSettings", s.Object{},
	s.Field{Name: "condenser_kind", Type: s.Enum{"llm_summarizing", "no_op"}})

var verification = spec.Reference("VerificationSettings", s.Object{})
