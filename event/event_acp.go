package event

import "encoding/json"

// ACPToolCallEvent mirrors a tool call made inside an external ACP agent.
type ACPToolCallEvent struct {
	Base
	ToolCallID string          `json:"tool_call_id"`
	Title      string          `json:"title"`
	Status     *string         `json:"status,omitempty"`
	ToolKind   *string         `json:"tool_kind,omitempty"`
	RawInput   json.RawMessage `json:"raw_input,omitempty"`
	RawOutput  json.RawMessage `json:"raw_output,omitempty"`
	Content    json.RawMessage `json:"content,omitempty"`
	IsError    bool            `json:"is_error"`
}

// Kind implements [Event].
func (*ACPToolCallEvent) Kind() string { return "ACPToolCallEvent" }

func init() {
	register[ACPToolCallEvent]()
}
