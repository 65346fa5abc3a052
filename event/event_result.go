package event

import "errors"

// ObservationEvent is the result of the action ActionID.
type ObservationEvent struct {
	Base
	ToolName    string      `json:"tool_name"`
	ToolCallID  string      `json:"tool_call_id"`
	Observation Observation `json:"observation"`
	ActionID    ID          `json:"action_id"`
	// ExtendedContent is added to the model's view, by hooks for example.
	ExtendedContent List[Content] `json:"extended_content"`
}

// Kind implements [Event].
func (*ObservationEvent) Kind() string { return "ObservationEvent" }

// MarshalJSON returns the result of [Marshal].
func (e *ObservationEvent) MarshalJSON() ([]byte, error) { return Marshal(e) }

func (e *ObservationEvent) missing() error {
	if e.Observation == nil {
		return errors.New("no observation")
	}
	return nil
}

// UnmarshalJSON reads the observation by its kind.
func (e *ObservationEvent) UnmarshalJSON(b []byte) error { return unmarshalInto(b, e) }

// UserRejectObservation says that the user or a hook refused an action.
type UserRejectObservation struct {
	Base
	ToolName        string `json:"tool_name"`
	ToolCallID      string `json:"tool_call_id"`
	ActionID        ID     `json:"action_id"`
	RejectionReason string `json:"rejection_reason"`
	RejectionSource string `json:"rejection_source"` // RejectedByUser (when absent) or RejectedByHook
}

// Kind implements [Event].
func (*UserRejectObservation) Kind() string { return "UserRejectObservation" }

// AgentErrorEvent answers a tool call that could not be run or whose effect
// is unknown.
type AgentErrorEvent struct {
	Base
	ToolName       string               `json:"tool_name"`
	ToolCallID     string               `json:"tool_call_id"`
	Error          string               `json:"error"`
	Classification *ErrorClassification `json:"classification,omitempty"`
}

// Kind implements [Event].
func (*AgentErrorEvent) Kind() string { return "AgentErrorEvent" }

// Who rejected an action.
const (
	RejectedByUser = "user"
	RejectedByHook = "hook"
)

// SetDefaults implements [Defaulter].
func (e *UserRejectObservation) SetDefaults() {
	e.RejectionReason, e.RejectionSource = "User rejected the action", RejectedByUser
}

func init() {
	register[ObservationEvent]()
	register[UserRejectObservation]()
	register[AgentErrorEvent]()
}
