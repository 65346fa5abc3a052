package event

// GlobAction is the input of the glob tool. Path is the directory to search,
// the working directory when it is nil.
type GlobAction struct {
	ActionBase
	Pattern string  `json:"pattern"`
	Path    *string `json:"path,omitempty"`
}

// Kind implements [Action].
func (*GlobAction) Kind() string { return "GlobAction" }

// GlobObservation is the result of the glob tool.
type GlobObservation struct {
	ObservationBase
	Files      List[string] `json:"files"`
	Pattern    string       `json:"pattern"`
	SearchPath string       `json:"search_path"`
	Truncated  bool         `json:"truncated"`
}

// Kind implements [Observation].
func (*GlobObservation) Kind() string { return "GlobObservation" }

// GrepAction is the input of the grep tool. Pattern is a regular expression,
// Include a glob that file names must match. Path is the directory to search,
// the working directory when it is nil.
type GrepAction struct {
	ActionBase
	Pattern string  `json:"pattern"`
	Path    *string `json:"path,omitempty"`
	Include *string `json:"include,omitempty"`
}

// Kind implements [Action].
func (*GrepAction) Kind() string { return "GrepAction" }

// GrepObservation is the result of the grep tool.
type GrepObservation struct {
	ObservationBase
	Matches        List[string] `json:"matches"`
	Pattern        string       `json:"pattern"`
	SearchPath     string       `json:"search_path"`
	IncludePattern *string      `json:"include_pattern,omitempty"`
	Truncated      bool         `json:"truncated"`
}

// Kind implements [Observation].
func (*GrepObservation) Kind() string { return "GrepObservation" }

func init() {
	registerAction[GlobAction]()
	registerAction[GrepAction]()
	registerObservation[GlobObservation]()
	registerObservation[GrepObservation]()
}
