package v0event

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
)

// risks are V0's numbers for the risk of an action.
var risks = map[event.Risk]int{event.RiskLow: 0, event.RiskMedium: 1, event.RiskHigh: 2}

// The confirmation states of actions.
const (
	confirmed = "confirmed"
	awaiting  = "awaiting_confirmation"
)

func riskOf(r event.Risk) int {
	if n, ok := risks[r]; ok {
		return n
	}
	return -1
}

// actionOf translates an action of the agent. One of a tool that V0 does not have
// becomes a call of a tool of an MCP server, which names any tool and its arguments.
func actionOf(ev *event.ActionEvent) *Event {
	thought := event.JoinText(ev.Thought)
	a := actionBody(ev, thought)
	switch a.Action {
	case "null", "think":
	case "finish", "task_tracking", "delegate":
		a.Args["thought"] = thought
	default:
		a.Args["thought"] = thought
		a.Args["security_risk"] = riskOf(ev.SecurityRisk)
		a.Args["confirmation_state"] = confirmed
	}
	a.Timestamp = ev.Timestamp
	a.Source = sourceAgent
	return a
}

func actionBody(ev *event.ActionEvent, thought string) *Event {
	switch a := ev.Action.(type) {
	case nil: // the arguments were invalid; an error follows
		return action("null", "No action", map[string]any{})
	case *event.TerminalAction:
		out := action("run", "Running command: "+a.Command, map[string]any{
			"command": a.Command, "is_input": a.IsInput, "blocking": false, "is_static": false, "cwd": nil, "hidden": false,
		})
		out.Timeout = a.Timeout
		return out
	case *event.FileEditorAction:
		return editorAction(a)
	case *event.PlanningFileEditorAction:
		same := event.FileEditorAction(*a)
		return editorAction(&same)
	case *event.ReadFileAction:
		start, end := 0, -1
		if a.Offset != nil {
			start = *a.Offset
		}
		if a.Limit != nil {
			end = start + *a.Limit
		}
		return readAction(a.FilePath, "default", start, end, nil)
	case *event.WriteFileAction:
		return action("write", "Writing file: "+a.FilePath, map[string]any{
			"path": a.FilePath, "content": a.Content, "start": 0, "end": -1,
		})
	case *event.EditAction:
		return editAction(a.FilePath, event.EditStrReplace, nil, &a.OldString, &a.NewString, nil)
	case *event.BrowserNavigateAction:
		return action("browse", "I am browsing the URL: "+a.URL, map[string]any{"url": a.URL, "return_axtree": false})
	case *event.MCPToolAction:
		return toolAction(ev.ToolName, a.Data)
	case *event.FinishAction:
		message := thought
		message = cmp.Or(message, "All done! What's next on the agenda?")
		return action("finish", message, map[string]any{"final_thought": a.Message, "outputs": map[string]any{}})
	case *event.ThinkAction:
		return action("think", "I am thinking...: "+a.Thought, map[string]any{"thought": a.Thought})
	case *event.TaskTrackerAction:
		message := fmt.Sprintf("Managing %d task items.", len(a.TaskList))
		switch len(a.TaskList) {
		case 0:
			message = "Clearing the task list."
		case 1:
			message = "Managing 1 task item."
		}
		return action("task_tracking", message, map[string]any{"command": a.Command, "task_list": tasksOf(a.TaskList)})
	case *event.TaskAction:
		return delegateAction(a.SubagentType, map[string]any{"task": a.Prompt})
	case *event.StartChildConversationAction:
		return delegateAction("conversation", map[string]any{"task": a.Task})
	}
	raw, err := event.MarshalAction(ev.Action)
	if err != nil {
		raw = nil
	}
	if strings.HasPrefix(ev.Action.Kind(), "Browser") {
		call := ev.ToolName + "(" + string(withoutKind(raw)) + ")"
		return action("browse_interactive", "I am interacting with the browser:\n```\n"+call+"\n```", map[string]any{
			"browser_actions": call, "browsergym_send_msg_to_user": "", "return_axtree": false,
		})
	}
	return toolAction(ev.ToolName, withoutKind(raw))
}

func toolAction(name string, arguments json.RawMessage) *Event {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	return action("call_tool_mcp",
		"I am interacting with the MCP server with name:\n```\n"+name+"\n```\nand arguments:\n```\n"+string(arguments)+"\n```",
		map[string]any{"name": name, "arguments": arguments})
}

func delegateAction(agent string, inputs map[string]any) *Event {
	return action("delegate", "I'm asking "+agent+" for help with this task.", map[string]any{"agent": agent, "inputs": inputs})
}

func editorAction(a *event.FileEditorAction) *Event {
	if a.Command == event.EditView {
		return readAction(a.Path, "oh_aci", 0, -1, a.ViewRange)
	}
	return editAction(a.Path, a.Command, a.FileText, a.OldStr, a.NewStr, a.InsertLine)
}

func readAction(path, source string, start, end int, viewRange []int) *Event {
	return action("read", "Reading file: "+path, map[string]any{
		"path": path, "start": start, "end": end, "impl_source": source, "view_range": viewRange,
	})
}

func editAction(path, command string, text, was, is *string, line *int) *Event {
	return action("edit", "", map[string]any{
		"path": path, "command": command, "file_text": text, "old_str": was, "new_str": is, "insert_line": line,
		"content": "", "start": 1, "end": -1, "impl_source": "oh_aci",
	})
}

// tasksOf gives the tasks the numbers that V0 has as their ids.
func tasksOf(items []event.TaskItem) []map[string]string {
	tasks := make([]map[string]string, 0, len(items))
	for i, t := range items {
		tasks = append(tasks, map[string]string{"id": strconv.Itoa(i + 1), "title": t.Title, "status": t.Status, "notes": t.Notes})
	}
	return tasks
}

// withoutKind returns an object without its kind.
func withoutKind(raw json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	delete(members, "kind")
	out, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return out
}
