package agentsettings

import (
	"encoding/json"
	"regexp"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Version is the schema version of agent settings that is written.
const Version = 9

func n(text string) json.Number { return json.Number(text) }

var (
	zero, one, twenty = 0.0, 1.0, 20.0
	atLeast0          = s.Bounds{GE: &zero}
	atLeast1          = s.Bounds{GE: &one}
	above0            = s.Bounds{GT: &zero}
	fraction          = s.Bounds{GT: &zero, LT: &one}
	text              = s.Opt(s.String{})
	list              = s.List{Of: s.String{}}
)

func emptyMap() any { return s.NewMap() }

// OpenHands describes settings of the built-in agent.
var OpenHands = &s.Object{
	Name: "OpenHandsAgentSettings", Before: refuseRemoved,
	Fields: []s.Field{
		{Name: "schema_version", Type: s.Int{Bounds: atLeast1}, Default: n("9")},
		{Name: "agent_kind", Type: s.Enum{"openhands"}, Default: "openhands"},
		{Name: "agent", Type: s.String{}, Default: "CodeActAgent", Page: &s.Page{
			Prominence: "major", Description: "Which agent to use."}},
		{Name: "llm", Type: spec.LLMSchema, Default: func() any { return dropHidden(spec.LLMSchema.Defaults()) }},
		{Name: "tools", Type: s.Opt(s.List{Of: spec.ToolSchema}), Page: &s.Page{
			Prominence: "major", Description: "Tools of the agent. Without a choice it has the standard set; an empty list leaves it without tools."}},
		{Name: "enable_classify_and_switch_llm_tool", Type: s.Bool{}, Default: false, Page: &s.Page{
			Label: "Enable intelligent model routing tool", Description: "Let the agent hand a task to the LLM profile that the active meta-profile finds best for it."}},
		{Name: "active_meta_profile", Type: text, Page: &s.Page{
			Label: "Active meta-profile", Description: "Name of the meta-profile that tasks are routed by."}},
		{Name: "meta_profile", Type: s.Opt(MetaProfile)},
		{Name: "meta_profile_llms", Type: s.Dict{Of: spec.LLMSchema}, Default: emptyMap},
		{Name: "tool_concurrency_limit", Type: s.Int{Bounds: atLeast1}, Default: n("1"), Page: &s.Page{
			Label: "Parallel tool calls", Prominence: "major", Description: "How many tools may run at once. With more than one they share the files they work on."}},
		{Name: "mcp_config", Type: spec.MCPServers, Default: emptyMap, Page: &s.Page{
			Label: "MCP servers", Description: "MCP servers whose tools the agent is offered."}},
		{Name: "persona", Type: s.Opt(s.String{Min: 1, Max: 65536})},
		{Name: "agent_context", Type: spec.ContextSchema, Default: func() any { return dropHidden(spec.ContextSchema.Defaults()) }},
		{Name: "condenser", Type: CondenserSettings, Default: func() any { return summarizing.Defaults() }},
		{Name: "verification", Type: verification, Default: func() any { return verification.Defaults() }},
	},
}

func dropHidden(m *s.Map) *s.Map {
	m.Delete("fallback_strategy")
	m.Delete("memory_context")
	return m
}

// MetaProfile describes how tasks are routed to models.
var MetaProfile = &s.Object{
	Name: "MetaProfile", After: checkMeta,
	Fields: []s.Field{
		{Name: "classifier_model", Type: s.String{}, Required: true},
		{Name: "classes", Type: s.List{Of: &s.Object{Fields: []s.Field{
			{Name: "description", Type: s.String{}, Required: true}, {Name: "model", Type: s.String{}, Required: true},
		}}}, Default: []any{}},
		{Name: "prompt_template", Type: text},
		{Name: "model_table", Type: text},
	},
}

var instanceText = regexp.MustCompile(`{{\s*instance_text\s*}}`)

func checkMeta(m *s.Map) error {
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
	Of: map[string]*s.Object{"llm_summarizing": summarizing, "no_op": noCondenser},
}

// kinds is what the pages offer; each variant takes its own.
var kinds = s.Enum{"llm_summarizing", "no_op"}

var enabledField = s.Field{Name: "enabled", Type: s.Bool{}, Default: true, Page: &s.Page{
	Label: "Enable memory condensation", Prominence: "critical", Description: "Summarize the middle of a conversation when it becomes too long."}}

var noCondenser = &s.Object{Fields: []s.Field{
	{Name: "condenser_kind", Type: kinds, Default: "no_op"}, enabledField,
}}

func whenEnabled(label, description string) *s.Page {
	return &s.Page{Label: label, Description: description, DependsOn: []string{"enabled"}}
}

var summarizing = &s.Object{Fields: []s.Field{
	{Name: "condenser_kind", Type: kinds, Default: "llm_summarizing", Page: &s.Page{
		Description: "How a conversation is shortened: by a summary that a model writes, or not at all."}},
	enabledField,
	{Name: "max_size", Type: s.Int{Bounds: s.Bounds{GE: &twenty}}, Default: n("240"), Page: whenEnabled("Max size", "How many events a conversation may have before it is shortened.")},
	{Name: "max_tokens", Type: s.Opt(s.Int{Bounds: above0}), Page: whenEnabled("Max tokens", "How many tokens a conversation may have before it is shortened. Empty counts events only.")},
	{Name: "keep_first", Type: s.Int{Bounds: atLeast0}, Default: n("2"), Page: whenEnabled("Keep first", "How many events at the beginning are never summarized.")},
	{Name: "minimum_progress", Type: s.Number{Bounds: fraction}, Default: n("0.1"), Page: whenEnabled("Minimum progress", "Which share of the events a summary has to replace to be worth it.")},
	{Name: "hard_context_reset_max_retries", Type: s.Int{Bounds: above0}, Default: n("5"), Page: whenEnabled("Hard reset retries", "How often a summary of everything is tried when nothing else helps.")},
	{Name: "hard_context_reset_context_scaling", Type: s.Number{Bounds: fraction}, Default: n("0.8"), Page: whenEnabled("Hard reset scaling", "By which factor events are shortened before the next try.")},
}}

func needs(label, prominence, description string, on ...string) *s.Page {
	return &s.Page{Label: label, Prominence: prominence, Description: description, DependsOn: on}
}

var verification = &s.Object{Fields: append(verificationPolicy(),
	s.Field{Name: "critic_api_key", Type: s.Opt(s.Secret{}), Page: needs("Critic API Key", "critical", "Key for the critic's server. Empty takes the key of the LLM.", "critic_enabled")},
)}

// VerificationPolicy describes verification without its key, as profiles have
// it.
var VerificationPolicy = &s.Object{Fields: verificationPolicy()}

func verificationPolicy() []s.Field {
	return []s.Field{
		{Name: "critic_enabled", Type: s.Bool{}, Default: false, Page: needs("Enable critic", "critical", "Let a critic judge what the agent has done.")},
		{Name: "critic_mode", Type: s.Enum{"finish_and_message", "all_actions"}, Default: "finish_and_message", Page: needs("Critic mode", "", "When the critic judges.", "critic_enabled")},
		{Name: "enable_iterative_refinement", Type: s.Bool{}, Default: false, Page: needs("Enable iterative refinement", "critical", "Let the agent try again when the critic is not content.", "critic_enabled")},
		{Name: "critic_threshold", Type: s.Number{Bounds: s.Bounds{GE: &zero, LE: &one}}, Default: n("0.6"), Page: needs("Critic threshold", "", "From which score on the critic is content.", "critic_enabled", "enable_iterative_refinement")},
		{Name: "max_refinement_iterations", Type: s.Int{Bounds: atLeast1}, Default: n("3"), Page: needs("Max refinement iterations", "", "How often the agent tries again at most.", "critic_enabled", "enable_iterative_refinement")},
		{Name: "critic_server_url", Type: text, Page: needs("Critic server URL", "", "Address of the critic, where it is not the usual one.", "critic_enabled")},
		{Name: "critic_model_name", Type: text, Page: needs("Critic model name", "", "Model of the critic, where it is not the usual one.", "critic_enabled")},
	}
}
