package event

// StreamingDeltaEvent is a piece of model output as it arrives; never stored.
type StreamingDeltaEvent struct {
	Base
	Content          *string `json:"content,omitempty"`
	ReasoningContent *string `json:"reasoning_content,omitempty"`
}

// Kind implements [Event].
func (*StreamingDeltaEvent) Kind() string { return "StreamingDeltaEvent" }

// LLMCompletionLogEvent carries one LLM call's log to a remote client.
type LLMCompletionLogEvent struct {
	Base
	Filename  string `json:"filename"`
	LogData   string `json:"log_data"` // the log file, JSON as text
	ModelName string `json:"model_name"`
	UsageID   string `json:"usage_id"`
}

// Kind implements [Event].
func (*LLMCompletionLogEvent) Kind() string { return "LLMCompletionLogEvent" }

// TokenEvent carries raw token ids, for training runs.
type TokenEvent struct {
	Base
	PromptTokenIDs   List[int] `json:"prompt_token_ids"`
	ResponseTokenIDs List[int] `json:"response_token_ids"`
}

// Kind implements [Event].
func (*TokenEvent) Kind() string { return "TokenEvent" }

// SetDefaults implements [Defaulter].
func (e *LLMCompletionLogEvent) SetDefaults() { e.ModelName, e.UsageID = "unknown", "default" }

func init() {
	register[StreamingDeltaEvent]()
	register[LLMCompletionLogEvent]()
	register[TokenEvent]()
}
