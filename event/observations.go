package event

import "encoding/json"

// TerminalObservation is the result of the terminal tool.
type TerminalObservation struct {
	ObservationBase
	Command           *string          `json:"command,omitempty"`
	ExitCode          *int             `json:"exit_code,omitempty"`
	Timeout           bool             `json:"timeout"`
	Metadata          TerminalMetadata `json:"metadata"`
	FullOutputSaveDir *string          `json:"full_output_save_dir,omitempty"`
}

// Kind implements [Observation].
func (*TerminalObservation) Kind() string { return "TerminalObservation" }

// FileEditorObservation is the result of the file_editor tool.
type FileEditorObservation struct {
	ObservationBase
	Command    string  `json:"command"`
	Path       *string `json:"path,omitempty"`
	PrevExist  bool    `json:"prev_exist"`
	OldContent *string `json:"old_content,omitempty"`
	NewContent *string `json:"new_content,omitempty"`
}

// Kind implements [Observation].
func (*FileEditorObservation) Kind() string { return "FileEditorObservation" }

// PlanningFileEditorObservation is the result of the planning_file_editor tool.
type PlanningFileEditorObservation struct {
	ObservationBase
	Command    string  `json:"command"`
	Path       *string `json:"path,omitempty"`
	PrevExist  bool    `json:"prev_exist"`
	OldContent *string `json:"old_content,omitempty"`
	NewContent *string `json:"new_content,omitempty"`
}

// Kind implements [Observation].
func (*PlanningFileEditorObservation) Kind() string { return "PlanningFileEditorObservation" }

// TaskTrackerObservation is the result of the task_tracker tool.
type TaskTrackerObservation struct {
	ObservationBase
	Command  string         `json:"command"`
	TaskList List[TaskItem] `json:"task_list"`
}

// Kind implements [Observation].
func (*TaskTrackerObservation) Kind() string { return "TaskTrackerObservation" }

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

// ApplyPatchObservation is the result of the apply_patch tool.
type ApplyPatchObservation struct {
	ObservationBase
	Message string          `json:"message"`
	Fuzz    int             `json:"fuzz"`
	Commit  json.RawMessage `json:"commit,omitempty"`
}

// Kind implements [Observation].
func (*ApplyPatchObservation) Kind() string { return "ApplyPatchObservation" }

// BrowserObservation is the result of the browser tool.
type BrowserObservation struct {
	ObservationBase
	ScreenshotData    *string `json:"screenshot_data,omitempty"`
	FullOutputSaveDir *string `json:"full_output_save_dir,omitempty"`
}

// Kind implements [Observation].
func (*BrowserObservation) Kind() string { return "BrowserObservation" }

// FinishObservation is the result of the finish tool.
type FinishObservation struct {
	ObservationBase
}

// Kind implements [Observation].
func (*FinishObservation) Kind() string { return "FinishObservation" }

// ThinkObservation is the result of the think tool.
type ThinkObservation struct {
	ObservationBase
}

// Kind implements [Observation].
func (*ThinkObservation) Kind() string { return "ThinkObservation" }

// InvokeSkillObservation is the result of the invoke_skill tool.
type InvokeSkillObservation struct {
	ObservationBase
	SkillName string `json:"skill_name"`
}

// Kind implements [Observation].
func (*InvokeSkillObservation) Kind() string { return "InvokeSkillObservation" }

// SwitchLLMObservation is the result of the switch_llm tool.
type SwitchLLMObservation struct {
	ObservationBase
	ProfileName string  `json:"profile_name"`
	Reason      *string `json:"reason,omitempty"`
	ActiveModel *string `json:"active_model,omitempty"`
}

// Kind implements [Observation].
func (*SwitchLLMObservation) Kind() string { return "SwitchLLMObservation" }

// VisionInspectObservation is the result of the vision_inspect tool.
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

// DelegateObservation is the result of the delegate tool.
type DelegateObservation struct {
	ObservationBase
	Command string `json:"command"`
}

// Kind implements [Observation].
func (*DelegateObservation) Kind() string { return "DelegateObservation" }

// TaskObservation is the result of the task tool.
type TaskObservation struct {
	ObservationBase
	TaskID   string `json:"task_id"`
	Subagent string `json:"subagent"`
	Status   string `json:"status"`
}

// Kind implements [Observation].
func (*TaskObservation) Kind() string { return "TaskObservation" }

// WorkflowObservation is the result of the workflow tool.
type WorkflowObservation struct {
	ObservationBase
	Name   string `json:"name"`
	Status string `json:"status"`
}

// Kind implements [Observation].
func (*WorkflowObservation) Kind() string { return "WorkflowObservation" }

// ReadFileObservation is the result of the read_file tool.
type ReadFileObservation struct {
	ObservationBase
	FilePath    string `json:"file_path"`
	FileContent string `json:"file_content"`
	IsTruncated bool   `json:"is_truncated"`
	LinesShown  []int  `json:"lines_shown,omitempty"`
	TotalLines  *int   `json:"total_lines,omitempty"`
}

// Kind implements [Observation].
func (*ReadFileObservation) Kind() string { return "ReadFileObservation" }

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

// AskOracleObservation is the result of the ask_oracle tool.
type AskOracleObservation struct {
	ObservationBase
}

// Kind implements [Observation].
func (*AskOracleObservation) Kind() string { return "AskOracleObservation" }

// ClassifyAndSwitchLLMObservation is the result of the classify_and_switch_llm tool.
type ClassifyAndSwitchLLMObservation struct {
	ObservationBase
	ChosenClass *string `json:"chosen_class,omitempty"`
	Model       *string `json:"model,omitempty"`
	ActiveModel *string `json:"active_model,omitempty"`
}

// Kind implements [Observation].
func (*ClassifyAndSwitchLLMObservation) Kind() string { return "ClassifyAndSwitchLLMObservation" }

// StartChildConversationObservation is the result of the start_child_conversation tool.
type StartChildConversationObservation struct {
	ObservationBase
	ConversationID       *string `json:"conversation_id,omitempty"`
	ParentConversationID *string `json:"parent_conversation_id,omitempty"`
	Status               *string `json:"status,omitempty"`
	Title                *string `json:"title,omitempty"`
	URL                  *string `json:"url,omitempty"`
	Workspace            *string `json:"workspace,omitempty"`
	Isolation            *string `json:"isolation,omitempty"`
}

// Kind implements [Observation].
func (*StartChildConversationObservation) Kind() string { return "StartChildConversationObservation" }

// MCPToolObservation is the result of the mcptool tool.
type MCPToolObservation struct {
	ObservationBase
	ToolName string `json:"tool_name"`
}

// Kind implements [Observation].
func (*MCPToolObservation) Kind() string { return "MCPToolObservation" }

// ClientToolObservation is the result of the client_tool tool.
type ClientToolObservation struct {
	ObservationBase
}

// Kind implements [Observation].
func (*ClientToolObservation) Kind() string { return "ClientToolObservation" }

func init() {
	RegisterObservation[TerminalObservation]()
	RegisterObservation[FileEditorObservation]()
	RegisterObservation[PlanningFileEditorObservation]()
	RegisterObservation[TaskTrackerObservation]()
	RegisterObservation[GlobObservation]()
	RegisterObservation[GrepObservation]()
	RegisterObservation[ApplyPatchObservation]()
	RegisterObservation[BrowserObservation]()
	RegisterObservation[FinishObservation]()
	RegisterObservation[ThinkObservation]()
	RegisterObservation[InvokeSkillObservation]()
	RegisterObservation[SwitchLLMObservation]()
	RegisterObservation[VisionInspectObservation]()
	RegisterObservation[DelegateObservation]()
	RegisterObservation[TaskObservation]()
	RegisterObservation[WorkflowObservation]()
	RegisterObservation[ReadFileObservation]()
	RegisterObservation[WriteFileObservation]()
	RegisterObservation[EditObservation]()
	RegisterObservation[ListDirectoryObservation]()
	RegisterObservation[AskOracleObservation]()
	RegisterObservation[ClassifyAndSwitchLLMObservation]()
	RegisterObservation[StartChildConversationObservation]()
	RegisterObservation[MCPToolObservation]()
	RegisterObservation[ClientToolObservation]()
}
