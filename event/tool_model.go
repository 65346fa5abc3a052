package event

// SwitchLLMAction is the input of the switch_llm tool.
type SwitchLLMAction struct {
	ActionBase
	ProfileName string `json:"profile_name"`
	Reason      string `json:"reason"`
}

// Kind implements [Action].
func (*SwitchLLMAction) Kind() string { return "SwitchLLMAction" }

// SwitchLLMObservation is the result of the switch_llm tool.
type SwitchLLMObservation struct {
	ObservationBase
	ProfileName string  `json:"profile_name"`
	Reason      *string `json:"reason,omitempty"`
	ActiveModel *string `json:"active_model,omitempty"`
}

// Kind implements [Observation].
func (*SwitchLLMObservation) Kind() string { return "SwitchLLMObservation" }

// ClassifyAndSwitchLLMAction is the input of the route_task_to_model tool.
type ClassifyAndSwitchLLMAction struct {
	ActionBase
}

// Kind implements [Action].
func (*ClassifyAndSwitchLLMAction) Kind() string { return "ClassifyAndSwitchLLMAction" }

// ClassifyAndSwitchLLMObservation is the result of the route_task_to_model tool.
type ClassifyAndSwitchLLMObservation struct {
	ObservationBase
	ChosenClass *string `json:"chosen_class,omitempty"`
	Model       *string `json:"model,omitempty"`
	ActiveModel *string `json:"active_model,omitempty"`
}

// Kind implements [Observation].
func (*ClassifyAndSwitchLLMObservation) Kind() string { return "ClassifyAndSwitchLLMObservation" }

// VisionInspectAction is the input of the inspect_image_with_vision tool.
// ImageIndex counts the images of the conversation from 0 on.
type VisionInspectAction struct {
	ActionBase
	ImageIndex  int     `json:"image_index"`
	Question    string  `json:"question"`
	ProfileName *string `json:"profile_name,omitempty"`
}

// Kind implements [Action].
func (*VisionInspectAction) Kind() string { return "VisionInspectAction" }

// VisionInspectObservation is the result of the inspect_image_with_vision tool.
type VisionInspectObservation struct {
	ObservationBase
	ImageIndex  int     `json:"image_index"`
	Question    string  `json:"question"`
	ProfileName *string `json:"profile_name,omitempty"`
	Model       *string `json:"model,omitempty"`
	BaseURL     *string `json:"base_url,omitempty"`
	Answer      *string `json:"answer,omitempty"`
}

// Kind implements [Observation].
func (*VisionInspectObservation) Kind() string { return "VisionInspectObservation" }

// AskOracleAction is the input of the ask_oracle tool.
type AskOracleAction struct {
	ActionBase
	Question string  `json:"question"`
	Context  *string `json:"context,omitempty"`
}

// Kind implements [Action].
func (*AskOracleAction) Kind() string { return "AskOracleAction" }

// AskOracleObservation is the result of the ask_oracle tool.
type AskOracleObservation struct {
	ObservationBase
}

// Kind implements [Observation].
func (*AskOracleObservation) Kind() string { return "AskOracleObservation" }

func init() {
	registerAction[SwitchLLMAction]()
	registerAction[ClassifyAndSwitchLLMAction]()
	registerAction[VisionInspectAction]()
	registerAction[AskOracleAction]()
	registerObservation[SwitchLLMObservation]()
	registerObservation[ClassifyAndSwitchLLMObservation]()
	registerObservation[VisionInspectObservation]()
	registerObservation[AskOracleObservation]()
}
