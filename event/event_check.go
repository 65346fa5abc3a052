package event

import "encoding/json"

// HookExecutionEvent records one hook run.
type HookExecutionEvent struct {
	Base
	HookEventType     string          `json:"hook_event_type"` // PreToolUse PostToolUse UserPromptSubmit SessionStart SessionEnd Stop
	HookCommand       string          `json:"hook_command"`
	ToolName          string          `json:"tool_name,omitempty"`
	Success           bool            `json:"success"`
	Blocked           bool            `json:"blocked"` // the hook refused the action or message
	ExitCode          int             `json:"exit_code"`
	Stdout            string          `json:"stdout"` // at most 50,000 characters
	Stderr            string          `json:"stderr"` // at most 50,000 characters
	Reason            *string         `json:"reason,omitempty"`
	AdditionalContext *string         `json:"additional_context,omitempty"`
	Error             *string         `json:"error,omitempty"`
	ActionID          ID              `json:"action_id,omitempty"`
	MessageID         ID              `json:"message_id,omitempty"`
	HookInput         json.RawMessage `json:"hook_input,omitempty"`
}

// Kind implements [Event].
func (*HookExecutionEvent) Kind() string { return "HookExecutionEvent" }

// SecurityAnalysisEvent records an analyzer's verdict on a batch of actions.
type SecurityAnalysisEvent struct {
	Base
	Analyzer string               `json:"analyzer"` // class name
	Policy   string               `json:"policy"`   // class name of the confirmation policy
	Risks    Map[Risk]            `json:"risks"`    // by ActionEvent id
	Details  Map[json.RawMessage] `json:"details"`  // by ActionEvent id, objects of the analyzer's own
}

// Kind implements [Event].
func (*SecurityAnalysisEvent) Kind() string { return "SecurityAnalysisEvent" }

func init() {
	register[HookExecutionEvent]()
	register[SecurityAnalysisEvent]()
}
