package event

import "encoding/json"

// ApplyPatchAction is the input of the apply_patch tool.
type ApplyPatchAction struct {
	ActionBase
	Patch string `json:"patch"`
}

// Kind implements [Action].
func (*ApplyPatchAction) Kind() string { return "ApplyPatchAction" }

// ApplyPatchObservation is the result of the apply_patch tool.
type ApplyPatchObservation struct {
	ObservationBase
	Message string          `json:"message"`
	Fuzz    int             `json:"fuzz"`
	Commit  json.RawMessage `json:"commit,omitempty"`
}

// Kind implements [Observation].
func (*ApplyPatchObservation) Kind() string { return "ApplyPatchObservation" }

func init() {
	RegisterAction[ApplyPatchAction]()
	RegisterObservation[ApplyPatchObservation]()
}
