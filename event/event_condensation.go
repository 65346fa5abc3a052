package event

// Condensation removes events from the model's view and may put a summary in their
// place. The stream keeps them.
type Condensation struct {
	Base
	ForgottenEventIDs List[ID] `json:"forgotten_event_ids"` // a set: no id twice
	Summary           *string  `json:"summary,omitempty"`
	SummaryOffset     *int     `json:"summary_offset,omitempty"` // where the summary goes in the view, from 0 on
	LLMResponseID     string   `json:"llm_response_id"`
}

// Kind implements [Event].
func (*Condensation) Kind() string { return "Condensation" }

// CondensationRequest asks for a condensation before the next step.
type CondensationRequest struct{ Base }

// Kind implements [Event].
func (*CondensationRequest) Kind() string { return "CondensationRequest" }

// CondensationSummaryEvent stands in a view where a Condensation put its
// summary. It is never stored; its id is the Condensation's plus "-summary".
type CondensationSummaryEvent struct {
	Base
	Summary string `json:"summary"`
}

// Kind implements [Event].
func (*CondensationSummaryEvent) Kind() string { return "CondensationSummaryEvent" }

func init() {
	register[Condensation]()
	register[CondensationRequest]()
	register[CondensationSummaryEvent]()
}
