package event

import "encoding/json"

// TerminalAction is the input of the terminal tool.
type TerminalAction struct {
	ActionBase
	Command string   `json:"command"`
	IsInput bool     `json:"is_input"`
	Timeout *float64 `json:"timeout,omitempty"`
	Reset   bool     `json:"reset"`
}

// Kind implements [Action].
func (*TerminalAction) Kind() string { return "TerminalAction" }

// FileEditorAction is the input of the file_editor tool.
type FileEditorAction struct {
	ActionBase
	Command    string  `json:"command"`
	Path       string  `json:"path"`
	FileText   *string `json:"file_text,omitempty"`
	OldStr     *string `json:"old_str,omitempty"`
	NewStr     *string `json:"new_str,omitempty"`
	InsertLine *int    `json:"insert_line,omitempty"`
	ViewRange  []int   `json:"view_range,omitempty"`
}

// Kind implements [Action].
func (*FileEditorAction) Kind() string { return "FileEditorAction" }

// PlanningFileEditorAction is the input of the planning_file_editor tool.
type PlanningFileEditorAction struct {
	ActionBase
	Command    string  `json:"command"`
	Path       string  `json:"path"`
	FileText   *string `json:"file_text,omitempty"`
	OldStr     *string `json:"old_str,omitempty"`
	NewStr     *string `json:"new_str,omitempty"`
	InsertLine *int    `json:"insert_line,omitempty"`
	ViewRange  []int   `json:"view_range,omitempty"`
}

// Kind implements [Action].
func (*PlanningFileEditorAction) Kind() string { return "PlanningFileEditorAction" }

// TaskTrackerAction is the input of the task_tracker tool.
type TaskTrackerAction struct {
	ActionBase
	Command  string         `json:"command"`
	TaskList List[TaskItem] `json:"task_list"`
}

// Kind implements [Action].
func (*TaskTrackerAction) Kind() string { return "TaskTrackerAction" }

// GlobAction is the input of the glob tool.
type GlobAction struct {
	ActionBase
	Pattern string  `json:"pattern"`
	Path    *string `json:"path,omitempty"`
}

// Kind implements [Action].
func (*GlobAction) Kind() string { return "GlobAction" }

// GrepAction is the input of the grep tool.
type GrepAction struct {
	ActionBase
	Pattern string  `json:"pattern"`
	Path    *string `json:"path,omitempty"`
	Include *string `json:"include,omitempty"`
}

// Kind implements [Action].
func (*GrepAction) Kind() string { return "GrepAction" }

// ApplyPatchAction is the input of the apply_patch tool.
type ApplyPatchAction struct {
	ActionBase
	Patch string `json:"patch"`
}

// Kind implements [Action].
func (*ApplyPatchAction) Kind() string { return "ApplyPatchAction" }

// BrowserNavigateAction is the input of the browser_navigate tool.
type BrowserNavigateAction struct {
	ActionBase
	URL    string `json:"url"`
	NewTab bool   `json:"new_tab"`
}

// Kind implements [Action].
func (*BrowserNavigateAction) Kind() string { return "BrowserNavigateAction" }

// BrowserClickAction is the input of the browser_click tool.
type BrowserClickAction struct {
	ActionBase
	Index  int  `json:"index"`
	NewTab bool `json:"new_tab"`
}

// Kind implements [Action].
func (*BrowserClickAction) Kind() string { return "BrowserClickAction" }

// BrowserTypeAction is the input of the browser_type tool.
type BrowserTypeAction struct {
	ActionBase
	Index int    `json:"index"`
	Text  string `json:"text"`
}

// Kind implements [Action].
func (*BrowserTypeAction) Kind() string { return "BrowserTypeAction" }

// BrowserGetStateAction is the input of the browser_get_state tool.
type BrowserGetStateAction struct {
	ActionBase
	IncludeScreenshot bool `json:"include_screenshot"`
}

// Kind implements [Action].
func (*BrowserGetStateAction) Kind() string { return "BrowserGetStateAction" }

// BrowserGetContentAction is the input of the browser_get_content tool.
type BrowserGetContentAction struct {
	ActionBase
	ExtractLinks  bool `json:"extract_links"`
	StartFromChar int  `json:"start_from_char"`
}

// Kind implements [Action].
func (*BrowserGetContentAction) Kind() string { return "BrowserGetContentAction" }

// BrowserScrollAction is the input of the browser_scroll tool.
type BrowserScrollAction struct {
	ActionBase
	Direction string `json:"direction"`
}

// Kind implements [Action].
func (*BrowserScrollAction) Kind() string { return "BrowserScrollAction" }

// BrowserGoBackAction is the input of the browser_go_back tool.
type BrowserGoBackAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserGoBackAction) Kind() string { return "BrowserGoBackAction" }

// BrowserListTabsAction is the input of the browser_list_tabs tool.
type BrowserListTabsAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserListTabsAction) Kind() string { return "BrowserListTabsAction" }

// BrowserSwitchTabAction is the input of the browser_switch_tab tool.
type BrowserSwitchTabAction struct {
	ActionBase
	TabID string `json:"tab_id"`
}

// Kind implements [Action].
func (*BrowserSwitchTabAction) Kind() string { return "BrowserSwitchTabAction" }

// BrowserCloseTabAction is the input of the browser_close_tab tool.
type BrowserCloseTabAction struct {
	ActionBase
	TabID string `json:"tab_id"`
}

// Kind implements [Action].
func (*BrowserCloseTabAction) Kind() string { return "BrowserCloseTabAction" }

// BrowserGetStorageAction is the input of the browser_get_storage tool.
type BrowserGetStorageAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserGetStorageAction) Kind() string { return "BrowserGetStorageAction" }

// BrowserSetStorageAction is the input of the browser_set_storage tool.
type BrowserSetStorageAction struct {
	ActionBase
	StorageState json.RawMessage `json:"storage_state"`
}

// Kind implements [Action].
func (*BrowserSetStorageAction) Kind() string { return "BrowserSetStorageAction" }

// BrowserStartRecordingAction is the input of the browser_start_recording tool.
type BrowserStartRecordingAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserStartRecordingAction) Kind() string { return "BrowserStartRecordingAction" }

// BrowserStopRecordingAction is the input of the browser_stop_recording tool.
type BrowserStopRecordingAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserStopRecordingAction) Kind() string { return "BrowserStopRecordingAction" }

// FinishAction is the input of the finish tool.
type FinishAction struct {
	ActionBase
	Message string `json:"message"`
}

// Kind implements [Action].
func (*FinishAction) Kind() string { return "FinishAction" }

// ThinkAction is the input of the think tool.
type ThinkAction struct {
	ActionBase
	Thought string `json:"thought"`
}

// Kind implements [Action].
func (*ThinkAction) Kind() string { return "ThinkAction" }

// InvokeSkillAction is the input of the invoke_skill tool.
type InvokeSkillAction struct {
	ActionBase
	Name string `json:"name"`
}

// Kind implements [Action].
func (*InvokeSkillAction) Kind() string { return "InvokeSkillAction" }

// SwitchLLMAction is the input of the switch_llm tool.
type SwitchLLMAction struct {
	ActionBase
	ProfileName string `json:"profile_name"`
	Reason      string `json:"reason"`
}

// Kind implements [Action].
func (*SwitchLLMAction) Kind() string { return "SwitchLLMAction" }

// VisionInspectAction is the input of the vision_inspect tool.
type VisionInspectAction struct {
	ActionBase
	ImageIndex  int     `json:"image_index"`
	Question    string  `json:"question"`
	ProfileName *string `json:"profile_name,omitempty"`
}

// Kind implements [Action].
func (*VisionInspectAction) Kind() string { return "VisionInspectAction" }

// DelegateAction is the input of the delegate tool.
type DelegateAction struct {
	ActionBase
	Command    string            `json:"command"`
	IDs        []string          `json:"ids,omitempty"`
	AgentTypes []string          `json:"agent_types,omitempty"`
	Tasks      map[string]string `json:"tasks,omitempty"`
}

// Kind implements [Action].
func (*DelegateAction) Kind() string { return "DelegateAction" }

// TaskAction is the input of the task tool.
type TaskAction struct {
	ActionBase
	Description  *string `json:"description,omitempty"`
	Prompt       string  `json:"prompt"`
	SubagentType string  `json:"subagent_type"`
	Resume       *string `json:"resume,omitempty"`
	MaxTurns     *int    `json:"max_turns,omitempty"`
}

// Kind implements [Action].
func (*TaskAction) Kind() string { return "TaskAction" }

// WorkflowAction is the input of the workflow tool.
type WorkflowAction struct {
	ActionBase
	Name           string `json:"name"`
	Script         string `json:"script"`
	MaxConcurrency int    `json:"max_concurrency"`
}

// Kind implements [Action].
func (*WorkflowAction) Kind() string { return "WorkflowAction" }

// ReadFileAction is the input of the read_file tool.
type ReadFileAction struct {
	ActionBase
	FilePath string `json:"file_path"`
	Offset   *int   `json:"offset,omitempty"`
	Limit    *int   `json:"limit,omitempty"`
}

// Kind implements [Action].
func (*ReadFileAction) Kind() string { return "ReadFileAction" }

// WriteFileAction is the input of the write_file tool.
type WriteFileAction struct {
	ActionBase
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// Kind implements [Action].
func (*WriteFileAction) Kind() string { return "WriteFileAction" }

// EditAction is the input of the edit tool.
type EditAction struct {
	ActionBase
	FilePath             string `json:"file_path"`
	OldString            string `json:"old_string"`
	NewString            string `json:"new_string"`
	ExpectedReplacements int    `json:"expected_replacements"`
}

// Kind implements [Action].
func (*EditAction) Kind() string { return "EditAction" }

// ListDirectoryAction is the input of the list_directory tool.
type ListDirectoryAction struct {
	ActionBase
	DirPath   string `json:"dir_path"`
	Recursive bool   `json:"recursive"`
}

// Kind implements [Action].
func (*ListDirectoryAction) Kind() string { return "ListDirectoryAction" }

// AskOracleAction is the input of the ask_oracle tool.
type AskOracleAction struct {
	ActionBase
	Question string  `json:"question"`
	Context  *string `json:"context,omitempty"`
}

// Kind implements [Action].
func (*AskOracleAction) Kind() string { return "AskOracleAction" }

// ClassifyAndSwitchLLMAction is the input of the classify_and_switch_llm tool.
type ClassifyAndSwitchLLMAction struct {
	ActionBase
}

// Kind implements [Action].
func (*ClassifyAndSwitchLLMAction) Kind() string { return "ClassifyAndSwitchLLMAction" }

// StartChildConversationAction is the input of the start_child_conversation tool.
type StartChildConversationAction struct {
	ActionBase
	Task      string  `json:"task"`
	Title     *string `json:"title,omitempty"`
	Isolation string  `json:"isolation"`
}

// Kind implements [Action].
func (*StartChildConversationAction) Kind() string { return "StartChildConversationAction" }

// MCPToolAction is the input of the mcptool tool.
type MCPToolAction struct {
	ActionBase
	Data json.RawMessage `json:"data"`
}

// Kind implements [Action].
func (*MCPToolAction) Kind() string { return "MCPToolAction" }

func init() {
	RegisterAction[TerminalAction]()
	RegisterAction[FileEditorAction]()
	RegisterAction[PlanningFileEditorAction]()
	RegisterAction[TaskTrackerAction]()
	RegisterAction[GlobAction]()
	RegisterAction[GrepAction]()
	RegisterAction[ApplyPatchAction]()
	RegisterAction[BrowserNavigateAction]()
	RegisterAction[BrowserClickAction]()
	RegisterAction[BrowserTypeAction]()
	RegisterAction[BrowserGetStateAction]()
	RegisterAction[BrowserGetContentAction]()
	RegisterAction[BrowserScrollAction]()
	RegisterAction[BrowserGoBackAction]()
	RegisterAction[BrowserListTabsAction]()
	RegisterAction[BrowserSwitchTabAction]()
	RegisterAction[BrowserCloseTabAction]()
	RegisterAction[BrowserGetStorageAction]()
	RegisterAction[BrowserSetStorageAction]()
	RegisterAction[BrowserStartRecordingAction]()
	RegisterAction[BrowserStopRecordingAction]()
	RegisterAction[FinishAction]()
	RegisterAction[ThinkAction]()
	RegisterAction[InvokeSkillAction]()
	RegisterAction[SwitchLLMAction]()
	RegisterAction[VisionInspectAction]()
	RegisterAction[DelegateAction]()
	RegisterAction[TaskAction]()
	RegisterAction[WorkflowAction]()
	RegisterAction[ReadFileAction]()
	RegisterAction[WriteFileAction]()
	RegisterAction[EditAction]()
	RegisterAction[ListDirectoryAction]()
	RegisterAction[AskOracleAction]()
	RegisterAction[ClassifyAndSwitchLLMAction]()
	RegisterAction[StartChildConversationAction]()
	RegisterAction[MCPToolAction]()
}
