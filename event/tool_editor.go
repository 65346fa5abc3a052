package event

// The commands of the editors.
const (
	EditView       = "view"
	EditCreate     = "create"
	EditStrReplace = "str_replace"
	EditInsert     = "insert"
	EditUndo       = "undo_edit"
)

// FileEditorAction is the input of the file_editor tool.
type FileEditorAction struct {
	ActionBase
	Command    string  `json:"command"`               // one of the Edit constants
	Path       string  `json:"path"`                  // absolute
	FileText   *string `json:"file_text,omitempty"`   // of create: the whole content
	OldStr     *string `json:"old_str,omitempty"`     // of str_replace: must occur exactly once
	NewStr     *string `json:"new_str,omitempty"`     // of str_replace and insert
	InsertLine *int    `json:"insert_line,omitempty"` // of insert: the line to insert after, 0 for the top
	ViewRange  []int   `json:"view_range,omitzero"`   // of view: first and last line from 1 on, -1 for the end
}

// Kind implements [Action].
func (*FileEditorAction) Kind() string { return "FileEditorAction" }

// FileEditorObservation is the result of the file_editor tool.
type FileEditorObservation struct {
	ObservationBase
	Command    string  `json:"command"`
	Path       *string `json:"path,omitempty"`
	PrevExist  bool    `json:"prev_exist"`            // the file existed before; true when absent
	OldContent *string `json:"old_content,omitempty"` // the whole file before
	NewContent *string `json:"new_content,omitempty"` // the whole file after
}

// Kind implements [Observation].
func (*FileEditorObservation) Kind() string { return "FileEditorObservation" }

// PlanningFileEditorAction is the input of the planning_file_editor tool: the
// editor of a planning agent, which may view anything but write only the plan.
type PlanningFileEditorAction struct {
	ActionBase
	Command    string  `json:"command"`               // one of the Edit constants
	Path       string  `json:"path"`                  // absolute
	FileText   *string `json:"file_text,omitempty"`   // of create: the whole content
	OldStr     *string `json:"old_str,omitempty"`     // of str_replace: must occur exactly once
	NewStr     *string `json:"new_str,omitempty"`     // of str_replace and insert
	InsertLine *int    `json:"insert_line,omitempty"` // of insert: the line to insert after, 0 for the top
	ViewRange  []int   `json:"view_range,omitzero"`   // of view: first and last line from 1 on, -1 for the end
}

// Kind implements [Action].
func (*PlanningFileEditorAction) Kind() string { return "PlanningFileEditorAction" }

// PlanningFileEditorObservation is the result of the planning_file_editor tool.
type PlanningFileEditorObservation struct {
	ObservationBase
	Command    string  `json:"command"`
	Path       *string `json:"path,omitempty"`
	PrevExist  bool    `json:"prev_exist"`            // the file existed before; true when absent
	OldContent *string `json:"old_content,omitempty"` // the whole file before
	NewContent *string `json:"new_content,omitempty"` // the whole file after
}

// Kind implements [Observation].
func (*PlanningFileEditorObservation) Kind() string { return "PlanningFileEditorObservation" }

// SetDefaults implements [Defaulter].
func (o *FileEditorObservation) SetDefaults() { o.PrevExist = true }

// SetDefaults implements [Defaulter].
func (o *PlanningFileEditorObservation) SetDefaults() { o.PrevExist = true }

func init() {
	registerAction[FileEditorAction]()
	registerAction[PlanningFileEditorAction]()
	registerObservation[FileEditorObservation]()
	registerObservation[PlanningFileEditorObservation]()
}
