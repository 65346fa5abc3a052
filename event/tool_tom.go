package event

// ConsultTomAction is the input of the tom_consult tool, which asks a model of
// the user for guidance.
type ConsultTomAction struct {
	ActionBase
	Reason         string  `json:"reason"`
	UseUserMessage bool    `json:"use_user_message"` // true when absent
	CustomQuery    *string `json:"custom_query,omitempty"`
}

// Kind implements [Action].
func (*ConsultTomAction) Kind() string { return "ConsultTomAction" }

// SetDefaults implements [Defaulter].
func (a *ConsultTomAction) SetDefaults() { a.UseUserMessage = true }

// ConsultTomObservation is the result of the tom_consult tool.
type ConsultTomObservation struct {
	ObservationBase
	Suggestions string   `json:"suggestions"`
	Confidence  *float64 `json:"confidence,omitempty"` // 0 to 1
	Reasoning   *string  `json:"reasoning,omitempty"`
}

// Kind implements [Observation].
func (*ConsultTomObservation) Kind() string { return "ConsultTomObservation" }

// SleeptimeComputeAction is the input of the sleeptime_compute tool, which
// updates that model from stored conversations.
type SleeptimeComputeAction struct {
	ActionBase
}

// Kind implements [Action].
func (*SleeptimeComputeAction) Kind() string { return "SleeptimeComputeAction" }

// SleeptimeComputeObservation is the result of the sleeptime_compute tool.
type SleeptimeComputeObservation struct {
	ObservationBase
	Message           string `json:"message"`
	SessionsProcessed int    `json:"sessions_processed"`
}

// Kind implements [Observation].
func (*SleeptimeComputeObservation) Kind() string { return "SleeptimeComputeObservation" }

func init() {
	registerAction[ConsultTomAction]()
	registerAction[SleeptimeComputeAction]()
	registerObservation[ConsultTomObservation]()
	registerObservation[SleeptimeComputeObservation]()
}
