package spec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
)

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
})

// The condenser that asks a model for summaries.
var _ = Reference("LLMSummarizingCondenser", s.Object{After: checkCondenser}, s.Field{Name: "llm", Type: ExtendedLLM})

// checkCondenser leaves room for events to condense, and does not stream
// summaries, which are not shown.
func checkCondenser(m *s.Map) error {
	size, err1 := whole(m.Get("max_size"))
	first, err2 := whole(m.Get("keep_first"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if size/2-first-1 <= 0 {
		return errors.New("keep_first must be less than max_size // 2 to leave room for condensation")
	}
	if l := m.Object("llm"); l.Get("stream") == true && l.Get("is_subscription") != true {
		l.Set("stream", false)
	}
	return nil
}

// AgentSchema describes agents: the built-in one and ACP agents.
var AgentSchema = Define("AgentBase", s.Tagged{
	Key: "kind", Default: "Agent", Mark: "llm", Order: []string{"ACPAgent", "Agent"},
	Of: map[string]*s.Object{"Agent": agentSchema, "ACPAgent": acpSchema},
})

var agentSchema = Reference("Agent", s.Object{Before: prepareAgent, Extra: s.Keep},
	s.Field{Name: "llm", Type: ExtendedLLM},
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

var acpSchema = Reference("ACPAgent", s.Object{Extra: s.Keep},
	s.Field{Name: "llm", Type: ExtendedLLM, Default: func() any {
		m := LLMSchema.Defaults()
		m.Set("model", "acp-managed")
		m.Set("usage_id", "acp-managed")
		return m
	}},
)

func whole(v any) (int, error) {
	var i int
	_, err := fmt.Sscan(fmt.Sprint(v), &i)
	return i, err
}
