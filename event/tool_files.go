package event

// ReadFileAction is the input of the read_file tool.
type ReadFileAction struct {
	ActionBase
	FilePath string `json:"file_path"`
	Offset   *int   `json:"offset,omitempty"` // lines to leave out at the start
	Limit    *int   `json:"limit,omitempty"`  // lines to read, at least 1
}

// Kind implements [Action].
func (*ReadFileAction) Kind() string { return "ReadFileAction" }

// ReadFileObservation is the result of the read_file tool.
type ReadFileObservation struct {
	ObservationBase
	FilePath    string `json:"file_path"`
	FileContent string `json:"file_content"`
	IsTruncated bool   `json:"is_truncated"`
	LinesShown  []int  `json:"lines_shown,omitzero"` // first and last line, from 1 on
	TotalLines  *int   `json:"total_lines,omitempty"`
}

// Kind implements [Observation].
func (*ReadFileObservation) Kind() string { return "ReadFileObservation" }

// WriteFileAction is the input of the write_file tool.
type WriteFileAction struct {
	ActionBase
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// Kind implements [Action].
func (*WriteFileAction) Kind() string { return "WriteFileAction" }

// WriteFileObservation is the result of the write_file tool.
type WriteFileObservation struct {
	ObservationBase
	FilePath   *string `json:"file_path,omitempty"`
	IsNewFile  bool    `json:"is_new_file"`
	OldContent *string `json:"old_content,omitempty"`
	NewContent *string `json:"new_content,omitempty"`
}

// Kind implements [Observation].
func (*WriteFileObservation) Kind() string { return "WriteFileObservation" }

// EditAction is the input of the edit tool.
type EditAction struct {
	ActionBase
	FilePath             string `json:"file_path"`
	OldString            string `json:"old_string"` // empty to make a new file
	NewString            string `json:"new_string"`
	ExpectedReplacements int    `json:"expected_replacements"` // 1 when absent
}

// Kind implements [Action].
func (*EditAction) Kind() string { return "EditAction" }

// EditObservation is the result of the edit tool.
type EditObservation struct {
	ObservationBase
	FilePath         *string `json:"file_path,omitempty"`
	IsNewFile        bool    `json:"is_new_file"`
	ReplacementsMade int     `json:"replacements_made"`
	OldContent       *string `json:"old_content,omitempty"`
	NewContent       *string `json:"new_content,omitempty"`
}

// Kind implements [Observation].
func (*EditObservation) Kind() string { return "EditObservation" }

// ListDirectoryAction is the input of the list_directory tool.
type ListDirectoryAction struct {
	ActionBase
	DirPath   string `json:"dir_path"` // "." when absent
	Recursive bool   `json:"recursive"`
}

// Kind implements [Action].
func (*ListDirectoryAction) Kind() string { return "ListDirectoryAction" }

// ListDirectoryObservation is the result of the list_directory tool.
type ListDirectoryObservation struct {
	ObservationBase
	DirPath     *string              `json:"dir_path,omitempty"`
	Entries     List[DirectoryEntry] `json:"entries"`
	TotalCount  int                  `json:"total_count"`
	IsTruncated bool                 `json:"is_truncated"`
}

// Kind implements [Observation].
func (*ListDirectoryObservation) Kind() string { return "ListDirectoryObservation" }

// DirectoryEntry is one row of a list_directory result.
type DirectoryEntry struct {
	Name         string    `json:"name"`
	Path         string    `json:"path"` // absolute
	IsDirectory  bool      `json:"is_directory"`
	Size         int64     `json:"size"` // in bytes; 0 for directories
	ModifiedTime Timestamp `json:"modified_time"`
}

// SetDefaults implements [Defaulter].
func (a *EditAction) SetDefaults() { a.ExpectedReplacements = 1 }

// SetDefaults implements [Defaulter].
func (a *ListDirectoryAction) SetDefaults() { a.DirPath = "." }

func init() {
	registerAction[ReadFileAction]()
	registerAction[WriteFileAction]()
	registerAction[EditAction]()
	registerAction[ListDirectoryAction]()
	registerObservation[ReadFileObservation]()
	registerObservation[WriteFileObservation]()
	registerObservation[EditObservation]()
	registerObservation[ListDirectoryObservation]()
}
