package event

import "encoding/json"

// Role is the role of a chat message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is a chat message in the neutral form that events hold and LLM
// adapters translate (sdk-wire.md section 7).
type Message struct {
	Role                   Role                `json:"role"`
	Content                List[Content]       `json:"content"`
	ToolCalls              []ToolCall          `json:"tool_calls,omitempty"`
	ToolCallID             string              `json:"tool_call_id,omitempty"`
	Name                   string              `json:"name,omitempty"`
	ReasoningContent       string              `json:"reasoning_content,omitempty"`
	ThinkingBlocks         List[ThinkingBlock] `json:"thinking_blocks"`
	ResponsesReasoningItem *ReasoningItem      `json:"responses_reasoning_item,omitempty"`
}

// The origins of a tool call: which API it came from.
const (
	OriginCompletion = "completion"
	OriginResponses  = "responses"
)

// ToolCall is one call as the model wrote it.
type ToolCall struct {
	ID              string `json:"id"`
	ResponsesItemID string `json:"responses_item_id,omitempty"`
	Name            string `json:"name"`
	Arguments       string `json:"arguments"` // a JSON object as text, possibly malformed
	Origin          string `json:"origin"`
}

// ThinkingBlock is a signed block of extended thinking, replayed verbatim.
type ThinkingBlock struct {
	Type      string `json:"type"`                // "thinking" or "redacted_thinking"
	Thinking  string `json:"thinking,omitempty"`  // of thinking
	Signature string `json:"signature,omitempty"` // of thinking
	Data      string `json:"data,omitempty"`      // of redacted_thinking
}

// ReasoningItem is a reasoning item of the OpenAI Responses API, replayed
// verbatim so that encrypted reasoning survives a round trip.
type ReasoningItem struct {
	ID               string       `json:"id,omitempty"`
	Summary          List[string] `json:"summary"`
	Content          []string     `json:"content,omitempty"`
	EncryptedContent string       `json:"encrypted_content,omitempty"`
	Status           string       `json:"status,omitempty"`
}

// RawOrNil returns nil for JSON null or nothing, and a copy of b otherwise.
func RawOrNil(b []byte) json.RawMessage {
	if len(b) == 0 || string(b) == "null" {
		return nil
	}
	return append(json.RawMessage(nil), b...)
}
