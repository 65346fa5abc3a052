package event

// FinishAction is the input of the finish tool.
type FinishAction struct {
	ActionBase
	Message string `json:"message"`
}

// Kind implements [Action].
func (*FinishAction) Kind() string { return "FinishAction" }

// FinishObservation is the result of the finish tool.
type FinishObservation struct {
	ObservationBase
}

// Kind implements [Observation].
func (*FinishObservation) Kind() string { return "FinishObservation" }

// ThinkAction is the input of the think tool.
type ThinkAction struct {
	ActionBase
	Thought string `json:"thought"`
}

// Kind implements [Action].
func (*ThinkAction) Kind() string { return "ThinkAction" }

// ThinkObservation is the result of the think tool.
type ThinkObservation struct {
	ObservationBase
}

// Kind implements [Observation].
func (*ThinkObservation) Kind() string { return "ThinkObservation" }

// InvokeSkillAction is the input of the invoke_skill tool.
type InvokeSkillAction struct {
	ActionBase
	Name string `json:"name"`
}

// Kind implements [Action].
func (*InvokeSkillAction) Kind() string { return "InvokeSkillAction" }

// InvokeSkillObservation is the result of the invoke_skill tool.
type InvokeSkillObservation struct {
	ObservationBase
	SkillName string `json:"skill_name"`
}

// Kind implements [Observation].
func (*InvokeSkillObservation) Kind() string { return "InvokeSkillObservation" }

func init() {
	registerAction[FinishAction]()
	registerAction[ThinkAction]()
	registerAction[InvokeSkillAction]()
	registerObservation[FinishObservation]()
	registerObservation[ThinkObservation]()
	registerObservation[InvokeSkillObservation]()
}
