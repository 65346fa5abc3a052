package event

import "encoding/json"

// SystemPromptEvent opens a conversation: what the agent is told about itself
// and the tools it has.
type SystemPromptEvent struct {
	Base
	SystemPrompt Content `json:"system_prompt"`
	// Tools describe the offered tools; see [ToolDefinition].
	Tools          List[ToolDefinition] `json:"tools"`
	DynamicContext *Content             `json:"dynamic_context,omitempty"`
}

// ToolDefinition is a tool as a SystemPromptEvent lists it. Fields that
// differ by kind of tool are kept verbatim.
type ToolDefinition struct {
	Description     string          `json:"description"`
	ActionType      string          `json:"action_type"`
	ObservationType string          `json:"observation_type,omitempty"`
	Annotations     *Annotations    `json:"annotations,omitempty"`
	Meta            json.RawMessage `json:"meta,omitempty"`
	MCPTool         json.RawMessage `json:"mcp_tool,omitempty"`
	ClientToolName  string          `json:"client_tool_name,omitempty"`
	InputSchema     json.RawMessage `json:"input_schema,omitempty"`
	KindName        string          `json:"kind"`
	Title           string          `json:"title"`
}

// Annotations are a tool's behaviour hints, as in the MCP specification.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}

// MessageEvent is a chat message of the user, the agent or the environment.
type MessageEvent struct {
	Base
	LLMMessage      Message         `json:"llm_message"`
	LLMResponseID   string          `json:"llm_response_id,omitempty"`
	ActivatedSkills List[string]    `json:"activated_skills"`
	ExtendedContent List[Content]   `json:"extended_content"`
	Sender          string          `json:"sender,omitempty"`
	CriticResult    json.RawMessage `json:"critic_result,omitempty"`
}

// Risk is how dangerous the model or an analyzer takes an action to be.
type Risk string

// The risks.
const (
	RiskUnknown Risk = "UNKNOWN"
	RiskLow     Risk = "LOW"
	RiskMedium  Risk = "MEDIUM"
	RiskHigh    Risk = "HIGH"
)

// ActionEvent is one tool call of the agent. Action is nil when the
// arguments were invalid; an AgentErrorEvent then says why.
type ActionEvent struct {
	Base
	Thought                List[Content]       `json:"thought"`
	ReasoningContent       string              `json:"reasoning_content,omitempty"`
	ThinkingBlocks         List[ThinkingBlock] `json:"thinking_blocks"`
	ResponsesReasoningItem *ReasoningItem      `json:"responses_reasoning_item,omitempty"`
	Action                 Action              `json:"-"`
	ToolName               string              `json:"tool_name"`
	ToolCallID             string              `json:"tool_call_id"`
	ToolCall               ToolCall            `json:"tool_call"`
	LLMResponseID          string              `json:"llm_response_id"`
	SecurityRisk           Risk                `json:"security_risk"`
	CriticResult           json.RawMessage     `json:"critic_result,omitempty"`
	Summary                string              `json:"summary,omitempty"`
}

// ObservationEvent is the result of the action ActionID.
type ObservationEvent struct {
	Base
	ToolName        string        `json:"tool_name"`
	ToolCallID      string        `json:"tool_call_id"`
	Observation     Observation   `json:"-"`
	ActionID        ID            `json:"action_id"`
	ExtendedContent List[Content] `json:"extended_content"`
}

// UserRejectObservation says that the user or a hook refused an action.
type UserRejectObservation struct {
	Base
	ToolName        string `json:"tool_name"`
	ToolCallID      string `json:"tool_call_id"`
	ActionID        ID     `json:"action_id"`
	RejectionReason string `json:"rejection_reason"`
	RejectionSource string `json:"rejection_source"` // "user" or "hook"
}

// AgentErrorEvent answers a tool call that could not be run or whose effect
// is unknown.
type AgentErrorEvent struct {
	Base
	ToolName       string               `json:"tool_name"`
	ToolCallID     string               `json:"tool_call_id"`
	Error          string               `json:"error"`
	Classification *ErrorClassification `json:"classification,omitempty"`
}

// ErrorClassification tells a user interface what kind of error it shows and
// what the user can do (sdk-wire.md section 7).
type ErrorClassification struct {
	Kind       string `json:"kind"` // auth quota rate_limit config transient agent_action internal unknown
	Retryable  bool   `json:"retryable"`
	UserAction string `json:"user_action"` // none retry settings
	ErrorID    string `json:"error_id,omitempty"`
}

// Condensation removes events from what the model sees and may put a summary
// in their place. The stream keeps them.
type Condensation struct {
	Base
	ForgottenEventIDs List[ID] `json:"forgotten_event_ids"`
	Summary           *string  `json:"summary,omitempty"`
	SummaryOffset     *int     `json:"summary_offset,omitempty"`
	LLMResponseID     string   `json:"llm_response_id"`
}

// CondensationRequest asks for a condensation before the next step.
type CondensationRequest struct{ Base }

// CondensationSummaryEvent stands in a view where a Condensation put its
// summary. It is never stored; its id is the Condensation's plus "-summary".
type CondensationSummaryEvent struct {
	Base
	Summary string `json:"summary"`
}

// PauseEvent records that the user paused the run.
type PauseEvent struct{ Base }

// InterruptEvent records that the user interrupted the run.
type InterruptEvent struct{ Base }

// ConversationStateUpdateEvent carries one state field, or all of them under
// the key "full_state".
type ConversationStateUpdateEvent struct {
	Base
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// ConversationErrorEvent tells the user why a run failed.
type ConversationErrorEvent struct {
	Base
	Code           string               `json:"code"`
	Detail         string               `json:"detail"`
	Classification *ErrorClassification `json:"classification,omitempty"`
}

// ServerErrorEvent reports a bad frame to a WebSocket client; never stored.
type ServerErrorEvent struct {
	Base
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// StreamingDeltaEvent is a piece of model output as it arrives; never stored.
type StreamingDeltaEvent struct {
	Base
	Content          *string `json:"content,omitempty"`
	ReasoningContent *string `json:"reasoning_content,omitempty"`
}

// LLMCompletionLogEvent carries one LLM call's log to a remote client.
type LLMCompletionLogEvent struct {
	Base
	Filename  string `json:"filename"`
	LogData   string `json:"log_data"`
	ModelName string `json:"model_name"`
	UsageID   string `json:"usage_id"`
}

// TokenEvent carries raw token ids, for training runs.
type TokenEvent struct {
	Base
	PromptTokenIDs   List[int] `json:"prompt_token_ids"`
	ResponseTokenIDs List[int] `json:"response_token_ids"`
}

// HookExecutionEvent records one hook run.
type HookExecutionEvent struct {
	Base
	HookEventType     string          `json:"hook_event_type"`
	HookCommand       string          `json:"hook_command"`
	ToolName          string          `json:"tool_name,omitempty"`
	Success           bool            `json:"success"`
	Blocked           bool            `json:"blocked"`
	ExitCode          int             `json:"exit_code"`
	Stdout            string          `json:"stdout"`
	Stderr            string          `json:"stderr"`
	Reason            *string         `json:"reason,omitempty"`
	AdditionalContext *string         `json:"additional_context,omitempty"`
	Error             *string         `json:"error,omitempty"`
	ActionID          ID              `json:"action_id,omitempty"`
	MessageID         ID              `json:"message_id,omitempty"`
	HookInput         json.RawMessage `json:"hook_input,omitempty"`
}

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

// SecurityAnalysisEvent records an analyzer's verdict on a batch of actions.
type SecurityAnalysisEvent struct {
	Base
	Analyzer string               `json:"analyzer"`
	Policy   string               `json:"policy"`
	Risks    Map[Risk]            `json:"risks"`
	Details  Map[json.RawMessage] `json:"details"`
}
