package agentsettings

import (
	"slices"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Agent makes the agent that settings describe, with the preset's tools if they choose none.
func Agent(m *s.Map, preset spec.Preset) (*spec.Agent, error) {
	if m.Text("agent_kind") == "acp" {
		return acpAgent(m)
	}
	list, _ := m.Get("tools").([]any)
	if m.Get("tools") != nil && list == nil {
		list = []any{}
	}
	tools, builtin := spec.SplitTools(spec.LaunchTools(list, preset))
	if m.Get("enable_classify_and_switch_llm_tool") == true {
		tools, builtin = withRouter(m, tools, builtin)
	}
	return spec.CheckAgent(s.Of(
		"llm", m.Get("llm"), "tools", tools, "mcp_config", m.Get("mcp_config"), "include_default_tools", builtin,
		"agent_context", m.Get("agent_context"), "condenser", Condenser(m.Object("condenser"), m.Object("llm")),
		"critic", Critic(m.Object("verification"), m.Object("llm")), "tool_concurrency_limit", m.Get("tool_concurrency_limit"),
		"persona", m.Get("persona"), "kind", "Agent",
	), s.Reading{})
}

func withRouter(m *s.Map, tools, builtin []any) ([]any, []any) {
	params := s.NewMap()
	for _, k := range []string{"active_meta_profile", "meta_profile", "meta_profile_llms"} {
		if v := m.Get(k); v != nil && (m.Object(k) == nil || m.Object(k).Len() > 0) {
			params.Set(k, v)
		}
	}
	tools = slices.DeleteFunc(slices.Clone(tools), func(t any) bool { return spec.ToolName(t) == spec.RouterTool })
	builtin = slices.DeleteFunc(slices.Clone(builtin), func(b any) bool { return b == spec.RouterTool })
	return append(tools, s.Of("name", spec.RouterTool, "params", params)), builtin
}

func acpAgent(m *s.Map) (*spec.Agent, error) {
	command, _ := m.Get("acp_command").([]any)
	if m.Text("acp_server") == "custom" && len(command) == 0 {
		return nil, fault.New(fault.Invalid, "ACPAgentSettings.acp_command must be set when acp_server='custom': there is no default to fall back to")
	}
	doc := m.Copy()
	doc.Delete("schema_version")
	doc.Delete("agent_kind")
	doc.Set("kind", spec.ACPKind)
	if known, ok := spec.FindACPServer(m.Text("acp_server")); ok && len(command) == 0 {
		for _, word := range known.Command() {
			command = append(command, word)
		}
		doc.Set("acp_command", command)
	}
	return spec.CheckAgent(doc, s.Reading{})
}
