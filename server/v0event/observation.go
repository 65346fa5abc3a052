package v0event

import (
	"encoding/json"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/optional"
)

// observationOf translates the result of a tool; nil if V0 has none. act is the action,
// nil if it was not read.
func observationOf(ev *event.ObservationEvent, act *event.ActionEvent) *Event {
	content := event.JoinText(ev.Observation.Result().Content)
	o := observationBody(ev, act, content)
	if o == nil {
		return nil
	}
	if ev.Observation.Result().IsError && o.Observation != "run" && o.Observation != "mcp" {
		o = errorObservation(content, "")
	}
	o.Source = sourceAgent // as the reference's runtime, which takes it from the action
	return o
}

func observationBody(ev *event.ObservationEvent, act *event.ActionEvent, content string) *Event {
	switch o := ev.Observation.(type) {
	case *event.TerminalObservation:
		return runObservation(o, content)
	case *event.FileEditorObservation:
		return editorObservation(o, content)
	case *event.PlanningFileEditorObservation:
		same := event.FileEditorObservation(*o)
		return editorObservation(&same, content)
	case *event.ReadFileObservation:
		return Read(o.FilePath, "default", o.FileContent).event()
	case *event.WriteFileObservation:
		return Wrote(optional.Value(o.FilePath), content).event()
	case *event.EditObservation:
		return editObservation(optional.Value(o.FilePath), !o.IsNewFile, o.OldContent, o.NewContent, content)
	case *event.BrowserObservation:
		return browseObservation(o, act, content)
	case *event.ThinkObservation:
		return observation("think", content, content, nil)
	case *event.FinishObservation:
		return nil
	case *event.TaskTrackerObservation:
		return observation("task_tracking", content, content, map[string]any{"command": o.Command, "task_list": tasksOf(o.TaskList)})
	case *event.TaskObservation:
		return delegateObservation(content, map[string]any{"task_id": o.TaskID, "status": o.Status})
	case *event.StartChildConversationObservation:
		return delegateObservation(content, map[string]any{"conversation_id": o.ConversationID, "status": o.Status})
	}
	return toolObservation(ev, act)
}

func errorObservation(content, id string) *Event { return Failed(content, id).event() }

func delegateObservation(content string, outputs map[string]any) *Event {
	return observation("delegate", content, content, map[string]any{"outputs": outputs})
}

func runObservation(o *event.TerminalObservation, content string) *Event {
	m := o.Metadata
	if o.ExitCode != nil {
		m.ExitCode = *o.ExitCode
	}
	return Ran(optional.Value(o.Command), false, content, m).event()
}

func editorObservation(o *event.FileEditorObservation, content string) *Event {
	if o.Command == event.EditView {
		return Read(optional.Value(o.Path), "oh_aci", content).event()
	}
	return editObservation(optional.Value(o.Path), o.PrevExist, o.OldContent, o.NewContent, content)
}

func editObservation(path string, existed bool, was, is *string, content string) *Event {
	return Edited(path, existed, was, is, content, diffOf(path, optional.Value(was), optional.Value(is))).event()
}

// maxDiff is how many bytes the two versions of a file may have that are compared: the
// time that takes grows faster than they do.
const maxDiff = 1 << 20

func diffOf(path, was, is string) string {
	if len(was)+len(is) > maxDiff {
		return ""
	}
	return strings.TrimSuffix(udiff.Unified(path, path, was, is), "\n")
}

func browseObservation(o *event.BrowserObservation, act *event.ActionEvent, content string) *Event {
	screenshot, url, trigger := o.Picture(), "", "browse_interactive"
	if act != nil {
		if nav, ok := act.Action.(*event.BrowserNavigateAction); ok {
			url, trigger = nav.URL, "browse"
		}
	}
	return observation("browse", "Visited "+url, content, map[string]any{
		"url": url, "trigger_by_action": trigger, "screenshot": screenshot, "screenshot_path": nil, "set_of_marks": "",
		"error": o.IsError, "goal_image_urls": []string{}, "open_pages_urls": []string{}, "active_page_index": -1,
		"dom_object": map[string]any{}, "axtree_object": map[string]any{}, "extra_element_properties": map[string]any{},
		"last_browser_action": "", "last_browser_action_error": "", "focused_element_bid": "", "filter_visible_only": false,
	})
}

// toolObservation is the result of any other tool, in the form of MCP's
// CallToolResult.
func toolObservation(ev *event.ObservationEvent, act *event.ActionEvent) *Event {
	result := ev.Observation.Result()
	blocks := []map[string]any{}
	for _, c := range result.Content {
		switch c.Type {
		case event.TypeText, "":
			blocks = append(blocks, map[string]any{"type": "text", "text": c.Text})
		case event.TypeImage:
			for _, url := range c.ImageURLs {
				if mime, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,"); ok {
					blocks = append(blocks, map[string]any{"type": "image", "mimeType": mime, "data": data})
				}
			}
		}
	}
	raw, err := json.Marshal(map[string]any{"content": blocks, "isError": result.IsError})
	if err != nil {
		return errorObservation(err.Error(), "")
	}
	arguments := any(map[string]any{})
	if act != nil {
		if a := actionBody(act, ""); a.Action == "call_tool_mcp" {
			arguments = a.Args["arguments"]
		}
	}
	return observation("mcp", string(raw), string(raw), map[string]any{"name": ev.ToolName, "arguments": arguments})
}

// recallOf is the text that a message's skills added for the model; nil if there
// were none.
func recallOf(ev *event.MessageEvent) *Event {
	if len(ev.ActivatedSkills) == 0 {
		return nil
	}
	content := ""
	if n := len(ev.ExtendedContent); n > 0 { // the texts of all skills are in the last block
		content = ev.ExtendedContent[n-1].Text
	}
	o := observation("recall", "Added microagent knowledge", "", map[string]any{
		"recall_type": "knowledge", "repo_name": "", "repo_directory": "", "repo_branch": "", "repo_instructions": "",
		"runtime_hosts": map[string]int{}, "additional_agent_instructions": "", "date": "",
		"custom_secrets_descriptions": map[string]string{}, "conversation_instructions": "", "working_dir": "",
		"microagent_knowledge": []map[string]string{{"name": strings.Join(ev.ActivatedSkills, ", "), "trigger": "", "content": content}},
	})
	o.Source = sourceEnvironment
	return o
}
