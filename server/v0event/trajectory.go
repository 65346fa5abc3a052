package v0event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// recorded is an event of a trajectory, as far as a replay needs it.
type recorded struct {
	Action      string          `json:"action"`
	Observation string          `json:"observation"`
	Kind        string          `json:"kind"` // of an event that is not V0's
	Source      string          `json:"source"`
	Timeout     *float64        `json:"timeout"`
	Args        json.RawMessage `json:"args"`
	Extras      json.RawMessage `json:"extras"`
	Call        *struct {
		ID       string `json:"tool_call_id"`
		Response struct {
			ID string `json:"id"`
		} `json:"model_response"`
	} `json:"tool_call_metadata"`
}

// Trajectory reads a V0 trajectory to replay it: a list of events, or an object with one, as
// downloads have it. Messages and the agent's actions become events; observations do not, for
// actions are done anew, except the observation of a first command, which says where it was
// recorded. Events of the environment are left out, as the reference leaves them out. Invalid,
// with the number of the event, for anything but a trajectory and for actions that no tool
// does here: delegation, edits by another model and steps in a browser's own
// language.
func Trajectory(raw []byte) ([]event.Event, error) {
	all, err := recordedEvents(raw)
	if err != nil {
		return nil, err
	}
	out := []event.Event{} // not nil: a trajectory with nothing to replay is one
	var last *event.ActionEvent
	located := false
	for i, rec := range all {
		var ev event.Event
		switch {
		case rec.Kind != "" && rec.Action == "" && rec.Observation == "":
			err = fault.New(fault.Invalid, "it is not one of V0").Hint("send such a trajectory to POST /api/v1/app-conversations/replay")
		case rec.Source == sourceEnvironment:
		case rec.Observation == "run" && last != nil && !located:
			ev = ranIn(rec, last)
			located = ev != nil
		case rec.Observation != "":
		case rec.Action == "message" && rec.Source == sourceUser:
			ev, err = userMessage(rec)
		default:
			ev, err = agentEvent(rec)
		}
		if err != nil {
			return nil, fmt.Errorf("event %d of the trajectory: %w", i+1, err)
		}
		if ev == nil {
			continue
		}
		if a, ok := ev.(*event.ActionEvent); ok {
			last = a
		}
		out = append(out, ev)
	}
	return out, nil
}

func recordedEvents(raw []byte) (all []recorded, err error) {
	if raw = bytes.TrimSpace(raw); bytes.HasPrefix(raw, []byte("{")) {
		var download struct {
			Trajectory json.RawMessage `json:"trajectory"`
		}
		if err = json.Unmarshal(raw, &download); err == nil {
			raw = download.Trajectory
		}
	}
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "it is no trajectory: a list of events is expected").Because(err)
	}
	return all, nil
}

func userMessage(rec recorded) (event.Event, error) {
	said, err := parseMessage(rec.Args)
	if err != nil {
		return nil, err
	}
	ev := &event.MessageEvent{Base: event.NewBase(event.SourceUser)}
	ev.LLMMessage = event.Message{Role: event.RoleUser, Content: said.Message}
	return ev, nil
}

// ignored are actions that a conversation does by itself, again when it is replayed.
var ignored = map[string]bool{
	"": true, "null": true, "system": true, "recall": true, "change_agent_state": true, "condensation": true, "condensation_request": true,
}

// agentEvent is an action of the agent, or its message.
func agentEvent(rec recorded) (event.Event, error) {
	if ignored[rec.Action] {
		return nil, nil
	}
	if rec.Action == "message" {
		var args struct {
			Content string `json:"content"`
		}
		if err := unmarshalArgs(rec.Args, &args); err != nil {
			return nil, err
		}
		ev := &event.MessageEvent{Base: event.NewBase(event.SourceAgent)}
		ev.LLMMessage = event.Message{Role: event.RoleAssistant, Content: event.Texts(args.Content)}
		return ev, nil
	}
	name, act, err := recordedAction(rec)
	if err != nil {
		return nil, err
	}
	raw, err := event.MarshalAction(act)
	if err != nil {
		return nil, err
	}
	if mcp, ok := act.(*event.MCPToolAction); ok {
		raw = mcp.Data
	} else {
		raw = withoutKind(raw)
	}
	var thought struct {
		Thought string `json:"thought"`
	}
	if err := unmarshalArgs(rec.Args, &thought); err != nil {
		return nil, err
	}
	ev := &event.ActionEvent{Base: event.NewBase(event.SourceAgent), Action: act, ToolName: name, SecurityRisk: event.RiskUnknown, LLMResponseID: string(event.NewID())}
	if thought.Thought != "" && rec.Action != "think" {
		ev.Thought = event.Texts(thought.Thought)
	}
	ev.ToolCallID = "call_" + string(event.NewID())
	if c := rec.Call; c != nil && c.ID != "" {
		ev.ToolCallID = c.ID
	}
	if c := rec.Call; c != nil && c.Response.ID != "" {
		ev.LLMResponseID = c.Response.ID
	}
	ev.ToolCall = event.ToolCall{ID: ev.ToolCallID, Name: name, Arguments: string(raw), Origin: "completion"}
	return ev, nil
}

// recordedAction returns the action of an agent, and the tool that does it.
func recordedAction(rec recorded) (tool string, act event.Action, err error) {
	var args struct {
		Command      string          `json:"command"`
		Code         string          `json:"code"`     // of a cell
		IsInput      any             `json:"is_input"` // a bool, "true" or "false"
		Path         string          `json:"path"`
		Content      string          `json:"content"`
		FileText     *string         `json:"file_text"`
		OldStr       *string         `json:"old_str"`
		NewStr       *string         `json:"new_str"`
		InsertLine   *int            `json:"insert_line"`
		ViewRange    []int           `json:"view_range"`
		Start        int             `json:"start"`
		End          int             `json:"end"`
		Source       string          `json:"impl_source"`
		Thought      string          `json:"thought"`
		FinalThought string          `json:"final_thought"`
		Name         string          `json:"name"`
		Arguments    json.RawMessage `json:"arguments"`
		URL          string          `json:"url"`
		Tasks        []struct {
			Title  string `json:"title"`
			Status string `json:"status"`
			Notes  string `json:"notes"`
		} `json:"task_list"`
	}
	if err := unmarshalArgs(rec.Args, &args); err != nil {
		return "", nil, err
	}
	switch rec.Action {
	case "run":
		input, _ := strconv.ParseBool(fmt.Sprint(args.IsInput))
		return "terminal", &event.TerminalAction{Command: args.Command, IsInput: input, Timeout: rec.Timeout}, nil
	case "read":
		if args.ViewRange == nil && (args.Start > 0 || args.End > 0) { // lines from 0 on, the last one not included
			args.ViewRange = []int{args.Start + 1, args.End}
		}
		return "file_editor", &event.FileEditorAction{Command: event.EditView, Path: args.Path, ViewRange: args.ViewRange}, nil
	case "write":
		return "file_editor", &event.FileEditorAction{Command: event.EditCreate, Path: args.Path, FileText: &args.Content}, nil
	case "edit":
		if args.Source == "llm_based_edit" || args.Command == "" {
			return "", nil, fault.New(fault.Invalid, "an edit by another model cannot be replayed")
		}
		return "file_editor", &event.FileEditorAction{
			Command: args.Command, Path: args.Path, FileText: args.FileText, OldStr: args.OldStr, NewStr: args.NewStr, InsertLine: args.InsertLine,
		}, nil
	case "run_ipython":
		raw, err := json.Marshal(map[string]string{"kind": "IPythonAction", "code": args.Code})
		if err != nil {
			return "", nil, err
		}
		act, err := event.UnmarshalAction(raw)
		return "ipython", act, err
	case "browse":
		return "browser_navigate", &event.BrowserNavigateAction{URL: args.URL}, nil
	case "call_tool_mcp":
		if args.Name == "" {
			return "", nil, fault.New(fault.Invalid, "the call of a tool has no name")
		}
		if len(args.Arguments) == 0 {
			args.Arguments = json.RawMessage("{}")
		}
		return args.Name, &event.MCPToolAction{Data: args.Arguments}, nil
	case "think":
		return "think", &event.ThinkAction{Thought: args.Thought}, nil
	case "finish":
		return "finish", &event.FinishAction{Message: args.FinalThought}, nil
	case "task_tracking":
		tracked := &event.TaskTrackerAction{Command: args.Command}
		for _, t := range args.Tasks {
			tracked.TaskList = append(tracked.TaskList, event.TaskItem{Title: t.Title, Status: t.Status, Notes: t.Notes})
		}
		return "task_tracker", tracked, nil
	}
	return "", nil, fault.New(fault.Invalid, fmt.Sprintf("the action %.60q cannot be replayed: no tool does it here", rec.Action))
}

// ranIn is the result of a command, without its output.
func ranIn(rec recorded, act *event.ActionEvent) event.Event {
	var extras struct {
		Command  string                 `json:"command"`
		Metadata event.TerminalMetadata `json:"metadata"`
	}
	if json.Unmarshal(rec.Extras, &extras) != nil || extras.Metadata.WorkingDir == nil { // it is not known where it ran
		return nil
	}
	return event.NewObservationEvent(act, &event.TerminalObservation{Command: &extras.Command, Metadata: event.TerminalMetadata{WorkingDir: extras.Metadata.WorkingDir}})
}
