package v0event

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
)

// messageOf translates a chat message. The content that skills and hooks have added
// for the model is not part of it.
func messageOf(ev *event.MessageEvent) *Event {
	text := event.JoinText(ev.LLMMessage.Content)
	images := []string{}
	for _, c := range ev.LLMMessage.Content {
		if c.Type == event.TypeImage {
			images = append(images, c.ImageURLs...)
		}
	}
	out := action("message", text, map[string]any{
		"content": text, "file_urls": nil, "image_urls": images, "wait_for_response": false, "security_risk": -1,
	})
	if out.Source = sourceOf(ev.Source); out.Source == sourceAgent {
		out.Args["wait_for_response"] = true
	}
	return out
}

// systemOf translates the system prompt.
func systemOf(ev *event.SystemPromptEvent) *Event {
	text := ev.SystemPrompt.Text
	if ev.DynamicContext != nil && ev.DynamicContext.Text != "" {
		text += "\n\n" + ev.DynamicContext.Text
	}
	tools := make([]any, 0, len(ev.Tools))
	for _, tool := range ev.Tools {
		tools = append(tools, map[string]any{"type": "function", "function": functionOf(&tool)})
	}
	out := action("system", text, map[string]any{
		"content": text, "tools": tools, "openhands_version": nil, "agent_class": nil,
	})
	out.Source = sourceAgent
	return out
}

// functionOf describes a tool as models are told of it.
func functionOf(tool *event.ToolDefinition) map[string]any {
	f := map[string]any{"name": tool.Title, "description": tool.Description, "parameters": map[string]any{"type": "object"}}
	switch {
	case tool.ClientToolName != "":
		f["name"] = tool.ClientToolName
		if tool.InputSchema != nil {
			f["parameters"] = tool.InputSchema
		}
	case tool.MCPTool != nil:
		var mcp struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(tool.MCPTool, &mcp) == nil && mcp.Name != "" {
			f["name"] = mcp.Name
			if mcp.InputSchema != nil {
				f["parameters"] = mcp.InputSchema
			}
		}
	}
	return f
}

// acpObservation translates a call that an external agent has made with a tool of its
// own, when it has ended.
func acpObservation(ev *event.ACPToolCallEvent) *Event {
	if ev.Status == nil || *ev.Status != "completed" && *ev.Status != "failed" {
		return nil
	}
	text := string(ev.RawOutput)
	if ev.RawOutput == nil {
		text = string(ev.Content)
	}
	raw, err := json.Marshal(map[string]any{
		"content": []map[string]any{{"type": "text", "text": text}}, "isError": ev.IsError,
	})
	if err != nil {
		return errorObservation(err.Error(), "")
	}
	arguments := any(map[string]any{})
	if ev.RawInput != nil {
		arguments = ev.RawInput
	}
	out := observation("mcp", string(raw), string(raw), map[string]any{"name": ev.Title, "arguments": arguments})
	out.Source = sourceAgent
	return out
}
