package event

// DelegateAction is the input of the delegate tool, which old conversations
// hold and nothing offers any more.
type DelegateAction struct {
	ActionBase
	Command    string            `json:"command"`              // "spawn" or "delegate"
	IDs        []string          `json:"ids,omitzero"`         // of spawn: names for the new agents
	AgentTypes []string          `json:"agent_types,omitzero"` // of spawn: one per id
	Tasks      map[string]string `json:"tasks,omitzero"`       // of delegate: task by id
}

// Kind implements [Action].
func (*DelegateAction) Kind() string { return "DelegateAction" }

// DelegateObservation is the result of the delegate tool.
type DelegateObservation struct {
	ObservationBase
	Command string `json:"command"`
}

// Kind implements [Observation].
func (*DelegateObservation) Kind() string { return "DelegateObservation" }

// TaskAction is the input of the task tool.
type TaskAction struct {
	ActionBase
	Description  *string `json:"description,omitempty"`
	Prompt       string  `json:"prompt"`
	SubagentType string  `json:"subagent_type"`       // "general-purpose" when absent
	Resume       *string `json:"resume,omitempty"`    // the task_id of an earlier task to go on with
	MaxTurns     *int    `json:"max_turns,omitempty"` // deprecated, still accepted
}

// Kind implements [Action].
func (*TaskAction) Kind() string { return "TaskAction" }

// TaskObservation is the result of the task tool.
type TaskObservation struct {
	ObservationBase
	TaskID   string `json:"task_id"`
	Subagent string `json:"subagent"`
	Status   string `json:"status"`
}

// Kind implements [Observation].
func (*TaskObservation) Kind() string { return "TaskObservation" }

// WorkflowAction is the input of the workflow tool.
type WorkflowAction struct {
	ActionBase
	Name           string `json:"name"`
	Script         string `json:"script"`
	MaxConcurrency int    `json:"max_concurrency"` // 1 to 64; 8 when absent
}

// Kind implements [Action].
func (*WorkflowAction) Kind() string { return "WorkflowAction" }

// WorkflowObservation is the result of the workflow tool.
type WorkflowObservation struct {
	ObservationBase
	Name   string `json:"name"`
	Status string `json:"status"`
}

// Kind implements [Observation].
func (*WorkflowObservation) Kind() string { return "WorkflowObservation" }

// StartChildConversationAction is the input of the start_child_conversation tool.
type StartChildConversationAction struct {
	ActionBase
	Task      string  `json:"task"`
	Title     *string `json:"title,omitempty"`
	Isolation string  `json:"isolation"` // "worktree" (when absent) or "shared"
}

// Kind implements [Action].
func (*StartChildConversationAction) Kind() string { return "StartChildConversationAction" }

// StartChildConversationObservation is the result of the start_child_conversation tool.
type StartChildConversationObservation struct {
	ObservationBase
	ConversationID       *string `json:"conversation_id,omitempty"`
	ParentConversationID *string `json:"parent_conversation_id,omitempty"`
	Status               *string `json:"status,omitempty"`
	Title                *string `json:"title,omitempty"`
	URL                  *string `json:"url,omitempty"`
	Workspace            *string `json:"workspace,omitempty"`
	Isolation            *string `json:"isolation,omitempty"`
}

// Kind implements [Observation].
func (*StartChildConversationObservation) Kind() string { return "StartChildConversationObservation" }

// SetDefaults implements [Defaulter].
func (a *TaskAction) SetDefaults() { a.SubagentType = "general-purpose" }

// SetDefaults implements [Defaulter].
func (a *WorkflowAction) SetDefaults() { a.MaxConcurrency = 8 }

// SetDefaults implements [Defaulter].
func (a *StartChildConversationAction) SetDefaults() { a.Isolation = "worktree" }

func init() {
	registerAction[DelegateAction]()
	registerAction[TaskAction]()
	registerAction[WorkflowAction]()
	registerAction[StartChildConversationAction]()
	registerObservation[DelegateObservation]()
	registerObservation[TaskObservation]()
	registerObservation[WorkflowObservation]()
	registerObservation[StartChildConversationObservation]()
}
