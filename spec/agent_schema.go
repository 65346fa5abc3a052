package spec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
)

// The parameters of a tool. The tool that routes tasks has LLMs with their keys in them.
var toolParams = &s.Object{Name: "params", Extra: s.Keep, Fields: []s.Field{
	{Name: "meta_profile_llms", Type: s.Opt(s.Dict{Of: ExtendedLLM}), MayBeAbsent: true},
}}

// A tool has a name and the parameters it is made with.
var _ = Reference("Tool", s.Object{
	Before: func(m *s.Map) error {
		if v, ok := m.Lookup("params"); ok && v == nil {
			m.Set("params", s.NewMap())
		}
		return nil
	},
	After: func(m *s.Map) error {
		if strings.TrimSpace(m.Text("name")) == "" {
			return errors.New("Tool name cannot be empty")
		}
		return nil
	},
}, s.Field{Name: "params", Type: toolParams})

// AgentSchema describes agents: the built-in one and ACP agents.
var AgentSchema = Define("AgentBase", s.Tagged{
	Key: "kind", Default: "Agent", Mark: "llm", Order: []string{ACPKind, "Agent"},
	Of: map[string]*s.Object{"Agent": agentSchema, ACPKind: acpSchema},
})

var agentSchema = Reference("Agent", s.Object{Before: prepareAgent, Extra: s.Keep},
	s.Field{Name: "llm", Type: ExtendedLLM}, s.Field{Name: "critic", Type: s.Opt(Critics)},
)

const defaultPrompt = "system_prompt.j2"

func prepareAgent(m *s.Map) error {
	if v, ok := m.Lookup("security_policy_filename"); ok && v == nil {
		m.Set("security_policy_filename", "")
	}
	if file, ok := m.Lookup("system_prompt_filename"); ok && file != defaultPrompt && m.Get("system_prompt") != nil {
		return fault.New(fault.Invalid, "Cannot set both 'system_prompt' and a non-default 'system_prompt_filename'. Use one or the other.")
	}
	kwargs := s.NewMap()
	if given := m.Object("system_prompt_kwargs"); given != nil {
		kwargs = given.Copy()
	}
	if _, ok := kwargs.Lookup("llm_security_analyzer"); !ok {
		kwargs.Set("llm_security_analyzer", true)
	}
	kwargs.Delete("enable_browser") // retired in 1.58
	m.Set("system_prompt_kwargs", kwargs)
	return nil
}

var acpSchema = Reference(ACPKind, s.Object{Extra: s.Keep, After: func(m *s.Map) error {
	if c := m.Object("agent_context"); c != nil && c.Get("load_project_skills") == true { // it reads the project itself
		c = c.Copy()
		c.Set("load_project_skills", false)
		m.Set("agent_context", c)
	}
	return nil
}},
	s.Field{Name: "llm", Type: ExtendedLLM, Default: func() any {
		m := LLMSchema.Defaults()
		m.Set("model", ACPModel)
		m.Set("usage_id", ACPModel)
		return m
	}},
	s.Field{Name: "critic", Type: s.Opt(Critics)},
	s.Field{Name: "acp_resume_session_id", Type: s.Opt(s.Secret{})}, // who has it can go on with the session
)

func whole(v any) (int, error) {
	var i int
	_, err := fmt.Sscan(fmt.Sprint(v), &i)
	return i, err
}
