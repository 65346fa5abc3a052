package agentsettings

import (
	"errors"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/spec"
)

// Version and ConversationVersion are the schema versions of the documents.
const (
	Version             = 9
	ConversationVersion = 1
)

// Settings describes settings of agents: one of two kinds, of which "openhands"
// was called "llm" before OpenHands 1.19.
var Settings = s.Tagged{
	Key: "agent_kind", Default: "openhands", Order: []string{"openhands", "llm", "acp"},
	Of: map[string]*s.Object{"openhands": openHands, "llm": openHands, "acp": acp},
}

var (
	openHands = spec.Reference("OpenHandsAgentSettings", s.Object{Before: prepare},
		s.Field{Name: "condenser", Type: CondenserSettings, Default: summarizing})
	acp = spec.Reference("ACPAgentSettings", s.Object{Before: prepare})
)

// prepare brings names into their present form, and refuses settings of other
// versions and those that were removed (docs/openhands/sdk-wire-1.58.md section
// B.2).
func prepare(m *s.Map) error {
	if err := filestore.CheckVersion(m, "AgentSettings", Version); err != nil {
		return err
	}
	m.Set("schema_version", s.Count(Version))
	var removed []string
	for _, k := range []string{"enable_sub_agents", "enable_switch_llm_tool", "llm"} {
		if _, ok := m.Lookup(k); ok && (k != "llm" || m.Text("agent_kind") == "acp") {
			removed = append(removed, k)
		}
	}
	if removed != nil {
		return fault.New(fault.Invalid, "Removed agent settings: "+strings.Join(removed, ", "))
	}
	if m.Text("agent_kind") == "llm" {
		m.Set("agent_kind", "openhands")
	}
	if model := m.Object("llm"); model != nil {
		model = model.Copy()
		spec.CanonicalizeLLM(model)
		m.Set("llm", model)
	}
	return nil
}

var verification = spec.Reference("VerificationSettings", s.Object{})

// Conversation describes settings of new conversations.
var Conversation = spec.Reference("ConversationSettings", conversation)

// ConversationWith describes [Conversation] with a preset in the place of the contract's
// default, which is [security.Never].
func ConversationWith(p security.Preset) *s.Object {
	confirm, analyzer := p.Settings()
	return spec.Variant("ConversationSettings", conversation,
		s.Field{Name: "confirmation_mode", Default: confirm}, s.Field{Name: "security_analyzer", Default: analyzer})
}

var conversation = s.Object{
	Before: func(m *s.Map) error {
		return filestore.CheckVersion(m, "ConversationSettings", ConversationVersion)
	},
	After: func(m *s.Map) error {
		if m.Get("worktree_base") == "ref" && m.Get("worktree_base_ref") == nil {
			return fault.New(fault.Invalid, "Branching worktrees from a ref needs worktree_base_ref")
		}
		return nil
	},
}

// MetaProfile describes how tasks are routed to models.
var MetaProfile = spec.Reference("MetaProfile", s.Object{After: CheckMeta})

var instanceText = lazyregexp.New(`{{\s*instance_text\s*}}`)

// CheckMeta refuses a meta-profile that both has classes and routes directly.
func CheckMeta(m *s.Map) error {
	template, ok := m.Get("prompt_template").(string)
	classes, _ := m.Get("classes").([]any)
	switch {
	case !ok:
		return nil
	case !instanceText().MatchString(template):
		return fault.New(fault.Invalid, "Direct-routing meta-profiles must include {{ instance_text }} in prompt_template.")
	case len(classes) > 0:
		return fault.New(fault.Invalid, "Direct-routing meta-profiles cannot also define classes.")
	}
	return nil
}

var _ = spec.Reference("ACPFileSecretSpec", s.Object{
	After: func(m *s.Map) error {
		if f := m.Text("filename"); strings.ContainsAny(f, `/\`) || f == "." || f == ".." {
			return errors.New("filename must be a bare basename, not a path")
		}
		dir := m.Text("subdir")
		if strings.HasPrefix(dir, "/") || dir == "." || slices.Contains(strings.Split(dir, "/"), "..") {
			return errors.New("subdir must be a relative path without '..'")
		}
		return nil
	},
})
