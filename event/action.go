package event

// Action is a request of the agent to do something. Concrete actions are pointers
// to structs that embed [ActionBase]; their JSON is the struct's plus "kind".
type Action interface {
	// Kind is the wire discriminator, for example "TerminalAction".
	Kind() string
	isAction()
}

// Runner is an action that runs code which the model has written. The secrets that the code names are
// given to it, and a permission for later is for this code alone.
type Runner interface {
	Action
	// Runs returns the code; empty if the action runs none.
	Runs() string
}

// ActionBase makes a struct an [Action]; embed it.
type ActionBase struct{}

func (*ActionBase) isAction() {}

// Observation is the result of an action. Concrete observations are pointers
// to structs that embed [ObservationBase].
type Observation interface {
	// Kind is the wire discriminator, for example "TerminalObservation".
	Kind() string
	// Result returns the fields that every observation has.
	Result() *ObservationBase
}

// ObservationBase holds the content of every observation that the model is shown.
type ObservationBase struct {
	Content List[Content] `json:"content"`
	// IsError marks a failed action. Agents tell the model so before Content.
	IsError bool `json:"is_error"`
}

// Result implements part of [Observation].
func (o *ObservationBase) Result() *ObservationBase { return o }
