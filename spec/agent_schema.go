package spec

import (
	"errors"
	"fmt"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
)

var (
	positive = s.Bounds{GT: &zero}
	fraction = s.Bounds{GT: &zero, LT: &one}
)

// ToolSchema describes a tool by its name and the parameters of its making.
var ToolSchema = &s.Object{
	Name: "Tool", Before: func(m *s.Map) error {
		if v, ok := m.Lookup("params"); ok && v == nil {
			m.Set("params", s.NewMap())
		}
		return nil
	},
	After: func(m *s.Map) error {
		if blank(m.Text("name")) {
			return errors.New("Tool name cannot be empty")
		}
		return nil
	},
	Fields: []s.Field{
		{Name: "name", Type: s.String{}, Required: true},
		{Name: "params", Type: s.Dict{Of: s.Any{}}, Default: func() any { return s.NewMap() }},
	},
}

// CondenserSchema describes what shortens an agent's history.
var CondenserSchema = condenserSchema()

func condenserSchema() s.Kinds {
	kind := s.Field{Name: "kind", Type: s.String{}}
	t := s.Kinds{Order: []string{"LLMSummarizingCondenser", "NoOpCondenser", "PipelineCondenser"}, Of: map[string]*s.Object{
		"NoOpCondenser": {Fields: []s.Field{kind}},
		"LLMSummarizingCondenser": {After: checkCondenser, Fields: []s.Field{
			{Name: "llm", Type: ExtendedLLM, Required: true},
			{Name: "max_size", Type: s.Int{Bounds: positive}, Default: n("240")},
			{Name: "max_tokens", Type: s.Opt(s.Int{})},
			{Name: "keep_first", Type: s.Int{Bounds: s.Bounds{GE: &zero}}, Default: n("2")},
			{Name: "minimum_progress", Type: s.Number{Bounds: fraction}, Default: n("0.1")},
			{Name: "hard_context_reset_max_retries", Type: s.Int{Bounds: positive}, Default: n("5")},
			{Name: "hard_context_reset_context_scaling", Type: s.Number{Bounds: fraction}, Default: n("0.8")},
			kind,
		}},
	}}
	t.Of["PipelineCondenser"] = &s.Object{Fields: []s.Field{{Name: "condensers", Type: s.List{Of: t}, Required: true}, kind}}
	return t
}

// checkCondenser keeps room for what is condensed, and does not stream
// summaries, which nobody watches.
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

// Schema describes agents: those of our own and, in outline, ACP agents.
var AgentSchema = s.Kinds{
	Default: "Agent", Mark: "llm", Order: []string{"ACPAgent", "Agent"},
	Of: map[string]*s.Object{"Agent": agentSchema, "ACPAgent": acpSchema},
}

var agentSchema = &s.Object{
	Name: "Agent", Before: prepareAgent, Extra: s.Keep,
	Fields: []s.Field{
		{Name: "llm", Type: ExtendedLLM, Required: true},
		{Name: "tools", Type: s.List{Of: ToolSchema}, Default: []any{}},
		{Name: "mcp_config", Type: MCPServers, Default: func() any { return s.NewMap() }},
		{Name: "filter_tools_regex", Type: text},
		{Name: "include_default_tools", Type: names, Default: []any{"FinishTool", "ThinkTool"}},
		{Name: "agent_context", Type: s.Opt(ContextSchema)},
		{Name: "system_prompt", Type: text},
		{Name: "system_prompt_filename", Type: s.String{}, Default: defaultPrompt},
		{Name: "security_policy_filename", Type: s.String{}, Default: "security_policy.j2"},
		{Name: "system_prompt_kwargs", Type: s.Dict{Of: s.Any{}}, Default: func() any { return s.NewMap() }},
		{Name: "condenser", Type: s.Opt(CondenserSchema)},
		{Name: "critic", Type: s.Any{}},
		{Name: "tool_concurrency_limit", Type: s.Int{Bounds: s.Bounds{GE: &one}}, Default: n("1")},
		{Name: "persona", Type: text},
		{Name: "kind", Type: s.String{}, Default: "Agent"},
	},
}

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

// acpSchema knows of an ACP agent what holds secrets; the rest is kept.
var acpSchema = &s.Object{
	Name: "ACPAgent", Extra: s.Keep,
	Fields: []s.Field{
		{Name: "llm", Type: ExtendedLLM, Default: func() any {
			m := LLMSchema.Defaults()
			m.Set("model", "acp-managed")
			m.Set("usage_id", "acp-managed")
			return m
		}},
		{Name: "mcp_config", Type: MCPServers, Default: func() any { return s.NewMap() }},
		{Name: "agent_context", Type: s.Opt(ContextSchema)},
		{Name: "kind", Type: s.String{}, Default: "ACPAgent"},
	},
}

func blank(text string) bool {
	for _, r := range text {
		if r != ' ' && r != '\t' && r != '\n' && r != '\r' {
			return false
		}
	}
	return true
}

func whole(v any) (int, error) {
	var i int
	_, err := fmt.Sscan(fmt.Sprint(v), &i)
	return i, err
}
