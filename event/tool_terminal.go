package event

// TerminalAction is the input of the terminal tool.
type TerminalAction struct {
	ActionBase
	// Command is a shell command; or, with IsInput, text or a key such as C-c
	// for the program that runs. Empty asks for more output of that program.
	Command string `json:"command"`
	// IsInput sends Command to the running program instead of the shell.
	IsInput bool `json:"is_input"`
	// Timeout is the hard limit in seconds, zero or more. Nil means that only
	// the soft limit on silence holds.
	Timeout *float64 `json:"timeout,omitempty"`
	// Reset starts a fresh shell. It cannot be combined with IsInput.
	Reset bool `json:"reset"`
}

// Kind implements [Action].
func (*TerminalAction) Kind() string { return "TerminalAction" }

// Runs implements [Runner].
func (a *TerminalAction) Runs() string {
	if a.IsInput {
		return ""
	}
	return a.Command
}

// TerminalObservation is the result of the terminal tool.
type TerminalObservation struct {
	ObservationBase
	// Command is the command that ran; nil for a reset. It is written as null when it
	// is nil: the reference refuses the observation without it.
	Command *string `json:"command"`
	// ExitCode is nil or -1 while the command still runs.
	ExitCode *int `json:"exit_code,omitempty"`
	// Timeout says that a limit was hit and the command may still run.
	Timeout  bool             `json:"timeout"`
	Metadata TerminalMetadata `json:"metadata"`
	// FullOutputSaveDir is where output too long to show was saved.
	FullOutputSaveDir *string `json:"full_output_save_dir,omitempty"`
}

// Kind implements [Observation].
func (*TerminalObservation) Kind() string { return "TerminalObservation" }

// TerminalMetadata is the state of the shell when it printed its prompt.
type TerminalMetadata struct {
	ExitCode          int     `json:"exit_code"` // -1 while it is not known, and when absent
	PID               int     `json:"pid"`       // of the last background command; -1 like ExitCode
	Username          *string `json:"username,omitempty"`
	Hostname          *string `json:"hostname,omitempty"`
	WorkingDir        *string `json:"working_dir,omitempty"`
	PyInterpreterPath *string `json:"py_interpreter_path,omitempty"`
	Prefix            string  `json:"prefix"` // shown before the output
	Suffix            string  `json:"suffix"` // shown after the output
	// Styles are the colours of the content, for people: "OFFSET:SGR OFFSET:SGR …". From
	// the character OFFSET (a Unicode code point) of the text on, it looks as ECMA-48's SGR
	// sequence with these parameters makes plain text look. The reference does not have
	// them, and models do not get them.
	Styles string `json:"styles,omitempty" null:"no"`
}

// SetDefaults implements [Defaulter].
func (m *TerminalMetadata) SetDefaults() { m.ExitCode, m.PID = -1, -1 }

// SetDefaults implements [Defaulter].
func (o *TerminalObservation) SetDefaults() { o.Metadata.SetDefaults() }

func init() {
	registerAction[TerminalAction]()
	registerObservation[TerminalObservation]()
}
