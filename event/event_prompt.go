package event

import "encoding/json"

// SystemPromptEvent opens a conversation: the system prompt and the tools.
type SystemPromptEvent struct {
	Base
	SystemPrompt Content `json:"system_prompt"`
	// Tools describe the offered tools; see [ToolDefinition].
	Tools          List[ToolDefinition] `json:"tools"`
	DynamicContext *Content             `json:"dynamic_context,omitempty"`
}

// Kind implements [Event].
func (*SystemPromptEvent) Kind() string { return "SystemPromptEvent" }

// Text returns the whole prompt.
func (e *SystemPromptEvent) Text() string {
	if e.DynamicContext == nil || e.DynamicContext.Text == "" {
		return e.SystemPrompt.Text
	}
	return e.SystemPrompt.Text + "\n\n" + e.DynamicContext.Text
}

// ToolDefinition is a tool as a SystemPromptEvent lists it. Fields that
// differ by kind of tool are kept verbatim.
type ToolDefinition struct {
	Description     string          `json:"description"`
	ActionType      string          `json:"action_type"`                // an Action kind
	ObservationType string          `json:"observation_type,omitempty"` // an Observation kind
	Annotations     *Annotations    `json:"annotations,omitempty"`
	Meta            json.RawMessage `json:"meta,omitempty"`
	MCPTool         json.RawMessage `json:"mcp_tool,omitempty" null:"no"`         // of MCPToolDefinition: the server's tool, keys in camel case
	ClientToolName  string          `json:"client_tool_name,omitempty" null:"no"` // of ClientTool
	InputSchema     json.RawMessage `json:"input_schema,omitempty" null:"no"`     // of ClientTool: its JSON Schema
	KindName        string          `json:"kind"`                                 // for example TerminalTool
	Title           string          `json:"title"`                                // for people; the tool's name if it has none
}

// Function describes the tool as models are told of it: its name, description and
// parameters. The parameters of Deft's own tools are not in the event.
func (d *ToolDefinition) Function() map[string]any {
	f := map[string]any{"name": d.Title, "description": d.Description, "parameters": map[string]any{"type": "object"}}
	switch {
	case d.ClientToolName != "":
		f["name"] = d.ClientToolName
		if d.InputSchema != nil {
			f["parameters"] = d.InputSchema
		}
	case d.MCPTool != nil:
		var mcp struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(d.MCPTool, &mcp) == nil && mcp.Name != "" {
			f["name"] = mcp.Name
			if mcp.InputSchema != nil {
				f["parameters"] = mcp.InputSchema
			}
		}
	}
	return f
}

// Annotations are a tool's behaviour hints, as in the MCP specification.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"` // true when absent
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"` // true when absent
}

// SetDefaults implements [Defaulter].
func (a *Annotations) SetDefaults() { a.Destructive, a.OpenWorld = true, true }

func init() {
	register[SystemPromptEvent]()
}
