package event_test

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
)

// zeroValue returns a value of the kind with only those fields set whose zero
// value the contract does not allow: enumerations, and numbers from 1 on.
func zeroValue(kind string) any {
	v := event.NewOfKind(kind)
	if ev, ok := v.(event.Event); ok {
		*ev.Meta() = event.NewBase(event.SourceEnvironment)
	}
	switch v := v.(type) {
	case *event.ActionEvent:
		v.ToolCall.Origin = event.OriginCompletion
	case *event.ObservationEvent:
		v.Observation = &event.ThinkObservation{}
	case *event.MessageEvent:
		v.LLMMessage.Role = event.RoleUser
	case *event.SystemPromptEvent:
		v.SystemPrompt = event.Text("")
	case *event.UserRejectObservation:
		v.RejectionSource = event.RejectedByUser
	case *event.HookExecutionEvent:
		v.HookEventType = "Stop"
	case *event.ConversationStateUpdateEvent:
		v.Value = json.RawMessage("{}")
	default:
		zeroToolValue(v)
	}
	return v
}

func zeroToolValue(v any) {
	switch v := v.(type) {
	case *event.FileEditorAction:
		v.Command = event.EditView
	case *event.PlanningFileEditorAction:
		v.Command = event.EditView
	case *event.FileEditorObservation:
		v.Command = event.EditView
	case *event.PlanningFileEditorObservation:
		v.Command = event.EditView
	case *event.TaskTrackerAction:
		v.Command = "view"
	case *event.TaskTrackerObservation:
		v.Command = "view"
	case *event.BrowserScrollAction:
		v.Direction = "up"
	case *event.BrowserSetStorageAction:
		v.StorageState = json.RawMessage("{}")
	case *event.MCPToolAction:
		v.Data = json.RawMessage("{}")
	case *event.DelegateAction:
		v.Command = "spawn"
	case *event.DelegateObservation:
		v.Command = "spawn"
	case *event.VisionInspectAction:
		v.Question = "?"
	case *event.WorkflowAction:
		v.MaxConcurrency = 1
	case *event.WorkflowObservation:
		v.Status = "completed"
	case *event.StartChildConversationAction:
		v.Isolation = "shared"
	}
}

// awkwardText has text that encoders get wrong: markup, line separators, controls,
// a quote, a backslash, and characters of every length.
const awkwardText = "<a href=\"x\">&amp;</a>\u2028\u2029\x00\x1f\x7f\\ \t\r\n é 漢 😀 \uFFFD"

// awkward returns values made in Go that the golden files do not show.
func awkward() []any {
	message := event.NewUserMessage(awkwardText)
	message.LLMMessage.Content = append(message.LLMMessage.Content, event.Image("data:image/png;base64,AAAA"))
	update, _ := event.NewStateUpdate("stats", map[string]any{"big": json.Number("18446744073709551616"), "text": awkwardText})
	thinking := zeroValue("ActionEvent").(*event.ActionEvent)
	thinking.ThinkingBlocks = event.List[event.ThinkingBlock]{
		{Signature: "only a signature"}, {Type: event.TypeRedacted}, {Type: event.TypeThinking, Thinking: awkwardText},
	}
	thinking.SecurityRisk = event.RiskHigh
	thinking.ToolName, thinking.ToolCallID = "task_tracker", "call_9"
	thinking.Action = &event.TaskTrackerAction{Command: "plan", TaskList: event.List[event.TaskItem]{{Status: event.TaskTodo}}}
	reset := &event.TerminalObservation{ObservationBase: event.ObservationBase{Content: event.Texts(awkwardText), IsError: true}}
	reset.SetDefaults()
	reset.Command = new("")
	answered := event.NewObservationEvent(thinking, reset)
	failed := event.NewAgentErrorEvent(thinking, awkwardText, &event.ErrorClassification{Kind: "auth", UserAction: "settings"})
	prompt := zeroValue("SystemPromptEvent").(*event.SystemPromptEvent)
	prompt.Tools = event.List[event.ToolDefinition]{{
		Description: awkwardText, ActionType: "TerminalAction", ObservationType: "TerminalObservation",
		Annotations: &event.Annotations{Title: "terminal", Destructive: true}, KindName: "TerminalTool", Title: "terminal",
	}}
	return []any{
		message, update, thinking, reset, prompt, answered, failed,
		&event.TerminalAction{Command: awkwardText, Timeout: new(0.1)},
		&event.MCPToolAction{Data: json.RawMessage("{\n \"n\": null, \"f\": 1e-7\n}")},
		&event.ListDirectoryObservation{Entries: event.List[event.DirectoryEntry]{{ModifiedTime: "2026-11-21T12:00:00.123456", Size: 1 << 40}}},
		&event.SecurityAnalysisEvent{Base: event.NewBase(event.SourceEnvironment), Risks: event.Map[event.Risk]{"a": "", "b": event.RiskLow}},
		&event.Condensation{Base: event.NewBase(event.SourceEnvironment), ForgottenEventIDs: event.List[event.ID]{"b", "a"}, SummaryOffset: new(0)},
	}
}
