package event

import "encoding/json"

// Action is what the agent asks to be done. Concrete actions are pointers to
// structs that embed [ActionBase]; their JSON is the struct's plus "kind".
type Action interface {
	// Kind is the wire discriminator, for example "TerminalAction".
	Kind() string
	isAction()
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

// ObservationBase holds what every observation has: what the model is shown.
type ObservationBase struct {
	Content List[Content] `json:"content"`
	IsError bool          `json:"is_error"`
}

// Result implements part of [Observation].
func (o *ObservationBase) Result() *ObservationBase { return o }

// UnknownAction is an action of a kind nobody registered, kept verbatim.
type UnknownAction struct {
	ActionBase
	KindName string
	Raw      json.RawMessage
}

// Kind implements [Action].
func (a *UnknownAction) Kind() string { return a.KindName }

// MarshalJSON returns the JSON that was decoded.
func (a *UnknownAction) MarshalJSON() ([]byte, error) { return a.Raw, nil }

// UnknownObservation is an observation of a kind nobody registered, kept
// verbatim; its content and error mark are still readable.
type UnknownObservation struct {
	ObservationBase
	KindName string
	Raw      json.RawMessage
}

// Kind implements [Observation].
func (o *UnknownObservation) Kind() string { return o.KindName }

// MarshalJSON returns the JSON that was decoded.
func (o *UnknownObservation) MarshalJSON() ([]byte, error) { return o.Raw, nil }

// Unknown is an event of a kind nobody registered, kept verbatim: changes to
// its Base are not written back.
type Unknown struct {
	Base
	KindName string
	Raw      json.RawMessage
}

// Kind implements [Event].
func (u *Unknown) Kind() string { return u.KindName }

// MarshalJSON returns the JSON that was decoded.
func (u *Unknown) MarshalJSON() ([]byte, error) { return u.Raw, nil }

// TaskItem is one line of the task tracker's list.
type TaskItem struct {
	Title  string `json:"title"`
	Notes  string `json:"notes"`
	Status string `json:"status"` // todo, in_progress or done
}

// TerminalMetadata is what the shell told about itself at the prompt.
// ExitCode and PID are -1 while they are not known.
type TerminalMetadata struct {
	ExitCode          int     `json:"exit_code"`
	PID               int     `json:"pid"`
	Username          *string `json:"username,omitempty"`
	Hostname          *string `json:"hostname,omitempty"`
	WorkingDir        *string `json:"working_dir,omitempty"`
	PyInterpreterPath *string `json:"py_interpreter_path,omitempty"`
	Prefix            string  `json:"prefix"`
	Suffix            string  `json:"suffix"`
}

// DirectoryEntry is one row of a list_directory result.
type DirectoryEntry struct {
	Name         string    `json:"name"`
	Path         string    `json:"path"`
	IsDirectory  bool      `json:"is_directory"`
	Size         int64     `json:"size"`
	ModifiedTime Timestamp `json:"modified_time"`
}
