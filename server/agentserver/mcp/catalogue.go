package mcp

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

// Catalogue returns the tools of the reference's catalogue that a user can
// choose, and whether this server has them.
func Catalogue() []Tool {
	return []Tool{
		{Name: "file_editor", Selectable: true, Usable: true, Default: true, Description: "View, create and edit files."},
		{Name: "task_tool_set", Selectable: true, Usable: true, Description: "Give a task of its own to another agent."},
		{Name: "task_tracker", Selectable: true, Usable: true, Default: true, Description: "Keep a list of the steps of a longer task."},
		{Name: "terminal", Selectable: true, Usable: true, Default: true, Description: "Run shell commands in a terminal that stays open."},
		{Name: "browser_tool_set", Selectable: true, Default: true, Unlisted: true, Description: "Visit web pages: read, click, type."},
		{Name: "glob", Selectable: true, Usable: true, Description: "Find files by the pattern of their names, such as **/*.ts."},
		{Name: "grep", Selectable: true, Usable: true, Description: "Find files by what is in them, with regular expressions."},
		{Name: "switch_llm", Selectable: true, Usable: true, Default: true, Unlisted: true, Description: "Let the agent take another saved LLM profile."},
	}
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
