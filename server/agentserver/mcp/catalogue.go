package mcp

import (
	"slices"

	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
)

// Tool is an entry of the catalogue of tools (docs/openhands/sdk-wire-1.58.md section C.3).
type Tool struct {
	Name string `json:"name"`
	// Selectable tools are offered to the user who makes an agent.
	Selectable bool `json:"user_selectable"`
	// Usable says that this server can run it.
	Usable      bool   `json:"usable"`
	Description string `json:"description"`
	Default     bool   `json:"in_default_set"`
	// Unlisted tools are in the catalogue only, not in the list of names.
	Unlisted bool `json:"-"`
}

// reference is the order of the reference's catalogue; further tools follow.
var reference = []string{"file_editor", "task_tool_set", "task_tracker", "terminal", spec.BrowserTool, "glob", "grep", spec.SwitchLLMTool}

// Catalogue returns the tools, whether a user can choose them, and whether this server has them.
func Catalogue() []Tool {
	var all []Tool
	for _, t := range tool.Registered() {
		if t.Description != "" {
			all = append(all, Tool{
				Name: t.Name, Selectable: !t.OfPreset, Usable: true, Description: t.Description, Default: t.Sets.Has(tool.Standard),
				Unlisted: spec.BuiltinClass(t.Name) != "" && t.Name != spec.RouterTool,
			})
		}
	}
	place := func(t Tool) int {
		if i := slices.Index(reference, t.Name); i >= 0 {
			return i
		}
		return len(reference)
	}
	slices.SortStableFunc(all, func(a, b Tool) int { return place(a) - place(b) })
	return all
}

// UsableNames returns the names of the tools that this server can run, for
// usable_tools of /server_info.
func UsableNames(tools []Tool) []string {
	names := []string{}
	for _, t := range tools {
		if t.Usable && !t.Unlisted {
			names = append(names, t.Name)
		}
	}
	return names
}
