package event

import (
	"cmp"
	"encoding/json"

	"github.com/deft-dev/deft/event/internal/wire"
)

// Risk is how dangerous the model or an analyzer takes an action to be.
type Risk string

// The risks.
const (
	RiskUnknown Risk = "UNKNOWN"
	RiskLow     Risk = "LOW"
	RiskMedium  Risk = "MEDIUM"
	RiskHigh    Risk = "HIGH"
)

// AppendJSON appends the risk to dst; the zero value is written as UNKNOWN.
func (r Risk) AppendJSON(dst []byte) ([]byte, error) {
	r = cmp.Or(r, RiskUnknown)
	return wire.Append(dst, string(r))
}

// ActionEvent is one tool call of the agent. Action is nil when the
// arguments were invalid; an AgentErrorEvent then says why. The calls of one
// response of the model share LLMResponseID; only the first of them carries
// thought and reasoning.
type ActionEvent struct {
	Base
	Thought                List[Content]       `json:"thought"`
	ReasoningContent       string              `json:"reasoning_content,omitempty"`
	ThinkingBlocks         List[ThinkingBlock] `json:"thinking_blocks"`
	ResponsesReasoningItem *ReasoningItem      `json:"responses_reasoning_item,omitempty"`
	Action                 Action              `json:"action,omitempty"`
	ToolName               string              `json:"tool_name"`
	ToolCallID             string              `json:"tool_call_id"`
	// ToolCall is the call as the model wrote it; its arguments may hold more
	// than Action does, such as the model's own risk and summary.
	ToolCall      ToolCall        `json:"tool_call"`
	LLMResponseID string          `json:"llm_response_id"`
	SecurityRisk  Risk            `json:"security_risk"`
	CriticResult  json.RawMessage `json:"critic_result,omitempty"`
	// Summary describes the purpose of the action in about ten words.
	Summary string `json:"summary,omitempty"`
}

// Kind implements [Event].
func (*ActionEvent) Kind() string { return "ActionEvent" }

// SetDefaults implements [Defaulter].
func (e *ActionEvent) SetDefaults() { e.SecurityRisk = RiskUnknown }

// MarshalJSON returns the result of [Marshal].
func (e *ActionEvent) MarshalJSON() ([]byte, error) { return Marshal(e) }

// UnmarshalJSON reads the action by its kind.
func (e *ActionEvent) UnmarshalJSON(b []byte) error { return unmarshalInto(b, e) }

func init() {
	register[ActionEvent]()
}
