package event

import (
	"encoding/json"
	"strings"
)

// ACPTool is the name of the tool by which an external ACP agent asks for the permission to do what is
// neither a command nor a change of files.
const ACPTool = "acp_tool"

// ACPToolCallEvent mirrors a tool call made inside an external ACP agent.
type ACPToolCallEvent struct {
	Base
	ToolCallID string          `json:"tool_call_id"`
	Title      string          `json:"title"`
	Status     *string         `json:"status,omitempty"`
	ToolKind   *string         `json:"tool_kind,omitempty"`
	RawInput   json.RawMessage `json:"raw_input,omitempty"`
	RawOutput  json.RawMessage `json:"raw_output,omitempty"`
	Content    json.RawMessage `json:"content,omitempty"`
	IsError    bool            `json:"is_error"`
}

// Kind implements [Event].
func (*ACPToolCallEvent) Kind() string { return "ACPToolCallEvent" }

func init() {
	register[ACPToolCallEvent]()
}

// acpPermission begins the ids of calls by which an external agent only asks.
const acpPermission = "acp-permission-"

// NewACPPermission returns the id of a call by which an external agent asks whether it may do
// something. What it then does is in an ACPToolCallEvent.
func NewACPPermission() string { return acpPermission + string(NewID()) }

// IsACPPermission reports whether a call is one of [NewACPPermission].
func IsACPPermission(toolCallID string) bool { return strings.HasPrefix(toolCallID, acpPermission) }

// Over reports whether the call has ended.
func (e *ACPToolCallEvent) Over() bool {
	return e.Status != nil && (*e.Status == "completed" || *e.Status == "failed")
}

// Shown returns what the call shows: the texts of its blocks, or else its output if that is a text,
// and the files that it changes.
func (e *ACPToolCallEvent) Shown() (text string, changes []FileChange) {
	var blocks []struct {
		Type    string  `json:"type"`
		Path    string  `json:"path"`
		Old     *string `json:"old_text"`
		New     string  `json:"new_text"`
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	var texts []string
	if json.Unmarshal(e.Content, &blocks) == nil {
		for _, b := range blocks {
			if b.Type == "diff" && b.Path != "" {
				changes = append(changes, FileChange{Path: b.Path, Old: b.Old, New: &b.New})
			} else if b.Content.Text != "" {
				texts = append(texts, strings.TrimRight(b.Content.Text, "\n"))
			}
		}
	}
	if text = strings.Join(texts, "\n"); text == "" && len(changes) == 0 && json.Unmarshal(e.RawOutput, &text) != nil {
		text = ""
	}
	return text, changes
}
