package spec

import (
	"errors"
	"slices"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/tool"
)

// Names of tools with a meaning in settings.
const (
	BrowserTool   = "browser_tool_set"
	SubAgentsTool = "task_tool_set"
	SwitchLLMTool = "switch_llm"
	RouterTool    = "ClassifyAndSwitchLLMTool"
)

// builtins are the tools of the reference that belong to the agent itself, by
// the names of their classes and those the model sees.
var builtins = map[string]string{
	"FinishTool": "finish", "ThinkTool": "think", "InvokeSkillTool": "invoke_skill",
	"SwitchLLMTool": SwitchLLMTool, "VisionInspectTool": "inspect_image_with_vision", RouterTool: "route_task_to_model",
}

// delegating are the tools that start sub-agents.
var delegating = []string{SubAgentsTool, taskTool, "workflow_tool_set", "workflow"}

// taskTool is the name of the only tool in [SubAgentsTool], which can be named instead.
const taskTool = "task"

// StartsSubAgents reports whether a tool starts sub-agents, by its name.
func StartsSubAgents(name string) bool { return slices.Contains(delegating, CanonicalTool(name)) }

// startChild is the tool that starts a conversation beside the agent's.
const startChild = "start_child_conversation"

// StartsOthers reports whether a tool starts sub-agents or conversations, by its name. Sub-agents
// have none.
func StartsOthers(name string) bool { return name == startChild || StartsSubAgents(name) }

// Ineffective says why a parameter of the tool has no effect; "" if all have.
func (t Tool) Ineffective() string {
	if CanonicalTool(t.Name) == startChild && t.Params.Get("launch_url") != nil {
		return "tool " + startChild + ": launch_url: conversations start here, and nowhere else"
	}
	return ""
}

// GivesTasks reports whether a tool gives tasks to sub-agents, by its name.
func GivesTasks(name string) bool { return slices.Contains(delegating, name) }

// BuiltinClass returns the class name of a built-in tool that is named by
// class or by tool name, or "".
func BuiltinClass(name string) string {
	if _, ok := builtins[name]; ok {
		return name
	}
	for class, own := range builtins {
		if own == name {
			return class
		}
	}
	return ""
}

// CanonicalTool returns the name of a tool by its name or class.
func CanonicalTool(name string) string {
	if own, ok := builtins[name]; ok {
		return own
	}
	return name
}

// NewTool returns the document of a tool without parameters.
func NewTool(name string) *s.Map { return s.Of("name", name, "params", s.NewMap()) }

// Preset says what the tools have that an agent gets where none are chosen.
type Preset struct {
	Name      string   // one of tool.Preset, such as "gpt5"
	More      []string // registered tools beside those of the preset
	NoBrowser bool     // the server has none
	SubAgents bool
}

// LaunchTools returns the tools of a launch: the standard set for nil
// (docs/openhands/sdk-wire-1.58.md section B.2). Unlike the reference's, the standard set has
// no browser: its fourteen tools would be in each request of each conversation.
func LaunchTools(tools []any, p Preset) []any {
	if tools == nil {
		return standardTools(p)
	}
	if p.NoBrowser {
		return slices.DeleteFunc(slices.Clone(tools), func(t any) bool { return ToolName(t) == BrowserTool })
	}
	return tools
}

// standardTools are the tools of an agent that chooses none; built-in ones come last.
func standardTools(p Preset) []any {
	list, builtin := []any{}, []any{}
	set, ok := tool.Preset(p.Name, tool.Standard)
	if !ok {
		set = tool.Standard // of a newer version
	}
	for _, r := range tool.Registered() {
		own := BuiltinClass(r.Name) != ""
		switch {
		case own && r.Sets.Has(tool.Standard):
			builtin = append(builtin, NewTool(r.Name))
		case !own && (r.Sets.Has(set) || slices.Contains(p.More, r.Name)):
			list = append(list, NewTool(r.Name))
		}
	}
	if p.SubAgents {
		list = append(list, NewTool(SubAgentsTool))
	}
	return append(list, builtin...)
}

// ToolName returns the name of a tool's document.
func ToolName(t any) string {
	m, _ := t.(*s.Map)
	return m.Text("name")
}

// MergeTools joins tools that are named twice; of them the first with
// parameters stays.
func MergeTools(tools []any) []any {
	out := []any{}
	for _, t := range tools {
		m, _ := t.(*s.Map)
		name := CanonicalTool(m.Text("name"))
		one := s.Of("name", name, "params", orEmpty(m.Object("params")))
		i := slices.IndexFunc(out, func(o any) bool { return ToolName(o) == name })
		switch {
		case i < 0:
			out = append(out, one)
		case params(out[i]).Len() == 0 && params(one).Len() > 0:
			out[i] = one
		}
	}
	return out
}

func params(t any) *s.Map {
	m, _ := t.(*s.Map)
	return m.Object("params")
}

func orEmpty(m *s.Map) *s.Map {
	if m == nil {
		return s.NewMap()
	}
	return m
}

// CheckBuiltins refuses parameters for built-in tools that take none.
func CheckBuiltins(tools []any) error {
	for _, t := range tools {
		class := BuiltinClass(ToolName(t))
		if class == "" || class == RouterTool {
			continue
		}
		for _, k := range params(t).Keys() {
			if k != "response_schema" {
				return errors.New("Tool '" + ToolName(t) + "' does not accept parameters")
			}
		}
	}
	return nil
}

// ScopeSubAgents lets tools that start sub-agents give them no tool that the
// agent lacks.
func ScopeSubAgents(tools []any) []any {
	out := make([]any, len(tools))
	for i, t := range tools {
		out[i] = t
		m, _ := t.(*s.Map)
		if !StartsSubAgents(m.Text("name")) {
			continue
		}
		p := orEmpty(m.Object("params")).Copy()
		p.Set("sub_agent_scope", s.Of("tools", true))
		m = m.Copy()
		m.Set("params", p)
		out[i] = m
	}
	return out
}

// SplitTools divides the tools of settings into those that run in the sandbox
// and the class names of built-in ones, which come after FinishTool and
// ThinkTool.
func SplitTools(specs []any) (tools []any, builtin []any) {
	tools, builtin = []any{}, []any{"FinishTool", "ThinkTool"}
	for _, t := range MergeTools(specs) {
		class := BuiltinClass(ToolName(t))
		switch {
		case class == "":
			tools = append(tools, t)
		case params(t).Len() > 0:
			m, _ := t.(*s.Map)
			m = m.Copy()
			m.Set("name", class)
			tools = append(tools, m)
			builtin = slices.DeleteFunc(builtin, func(b any) bool { return b == class })
		case !slices.Contains(builtin, any(class)):
			builtin = append(builtin, class)
		}
	}
	return tools, builtin
}
