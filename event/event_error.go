package event

// ErrorClassification tells a user interface the kind of an error and the user's
// next step (docs/openhands/sdk-wire.md section 7).
type ErrorClassification struct {
	Kind       string `json:"kind"` // auth quota rate_limit config transient agent_action internal unknown
	Retryable  bool   `json:"retryable"`
	UserAction string `json:"user_action"` // none (when absent) retry settings
	ErrorID    string `json:"error_id,omitempty"`
}

// ConversationErrorEvent tells the user why a run failed.
type ConversationErrorEvent struct {
	Base
	Code           string               `json:"code"`
	Detail         string               `json:"detail"`
	Classification *ErrorClassification `json:"classification,omitempty"`
}

// Kind implements [Event].
func (*ConversationErrorEvent) Kind() string { return "ConversationErrorEvent" }

// ServerErrorEvent reports a bad frame to a WebSocket client; never stored.
type ServerErrorEvent struct {
	Base
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Kind implements [Event].
func (*ServerErrorEvent) Kind() string { return "ServerErrorEvent" }

// SetDefaults implements [Defaulter].
func (c *ErrorClassification) SetDefaults() { c.UserAction = "none" }

func init() {
	register[ConversationErrorEvent]()
	register[ServerErrorEvent]()
}
