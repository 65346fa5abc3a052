package event

import (
	"encoding/json"

	"github.com/deft-dev/deft/event/internal/wire"
)

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
// adapters translate (docs/openhands/sdk-wire.md section 7).
type Message struct {
	Role                   Role                `json:"role"`
	Content                List[Content]       `json:"content"`
	ToolCalls              []ToolCall          `json:"tool_calls,omitzero"`
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

// The types of thinking blocks.
const (
	TypeThinking = "thinking"
	TypeRedacted = "redacted_thinking"
)

// ThinkingBlock is a signed block of extended thinking, replayed verbatim.
type ThinkingBlock struct {
	Type      string // TypeThinking, also when empty, or TypeRedacted
	Thinking  string // of thinking; empty when the provider shows only the signature
	Signature string // of thinking, optional
	Data      string // of redacted thinking
}

type thinkingJSON struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature,omitempty"`
}

type redactedJSON struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

// AppendJSON appends the block's JSON to dst: only the fields of its type.
func (t ThinkingBlock) AppendJSON(dst []byte) ([]byte, error) {
	if t.Type == TypeRedacted {
		return wire.Append(dst, &redactedJSON{t.Type, t.Data})
	}
	return wire.Append(dst, &thinkingJSON{TypeThinking, t.Thinking, t.Signature})
}

// MarshalJSON implements [json.Marshaler].
func (t ThinkingBlock) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil) }

// ParseJSON reads a block from JSON that is known to be valid; use
// json.Unmarshal for any other.
func (t *ThinkingBlock) ParseJSON(b []byte) error {
	var v struct {
		thinkingJSON
		Data string `json:"data"`
	}
	err := wire.Decode(b, &v)
	*t = ThinkingBlock{Type: v.Type, Thinking: v.Thinking, Signature: v.Signature, Data: v.Data}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *ThinkingBlock) UnmarshalJSON(b []byte) error {
	if err := wire.Check(b); err != nil {
		return err
	}
	return t.ParseJSON(b)
}

// ReasoningItem is a reasoning item of the OpenAI Responses API, replayed
// verbatim so that encrypted reasoning survives a round trip.
type ReasoningItem struct {
	ID               string       `json:"id,omitempty"`
	Summary          List[string] `json:"summary"`
	Content          []string     `json:"content,omitzero"`
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
