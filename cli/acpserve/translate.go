package acpserve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// maxTitle bounds the title of a tool call, in bytes.
const maxTitle = 200

// translator makes updates of events. It is for one goroutine at a time.
type translator struct {
	calls   map[string]acp.ToolCallId               // by the model's ids, of calls without a result
	tasks   map[event.ConversationID]acp.ToolCallId // by the conversations of their sub-agents
	line    bytes.Buffer
	printer *console.Printer
}

func newTranslator() *translator {
	t := &translator{calls: map[string]acp.ToolCallId{}, tasks: map[event.ConversationID]acp.ToolCallId{}}
	t.printer = console.New(console.Options{Out: &t.line, Lines: 1})
	return t
}

// user returns the update for a message of the user, for a history.
func (t *translator) user(ev event.Event) []acp.SessionUpdate {
	m, ok := ev.(*event.MessageEvent)
	if !ok || m.Source != event.SourceUser {
		return nil
	}
	var out []acp.SessionUpdate
	for _, b := range blocks(m.LLMMessage.Content, false) {
		out = append(out, acp.UpdateUserMessage(b))
	}
	return out
}

// updates returns the updates for an event. text and thought are of it and were sent already.
func (t *translator) updates(ev event.Event, text, thought string) []acp.SessionUpdate {
	switch e := ev.(type) {
	case *event.MessageEvent:
		if e.Source != event.SourceAgent {
			return nil
		}
		return said(e.LLMMessage.ReasoningContent, thought, event.JoinText(e.LLMMessage.Content), text)
	case *event.ActionEvent:
		out := said(e.ReasoningContent, thought, event.JoinText(e.Thought), text)
		return append(out, t.action(e)...)
	case *event.ObservationEvent:
		return t.observation(e)
	case *event.ACPToolCallEvent:
		return t.acpCall(e)
	case *event.AgentErrorEvent:
		return t.ended(e.ToolCallID, acp.ToolCallStatusFailed, textContent(e.Error))
	case *event.UserRejectObservation:
		return t.ended(e.ToolCallID, acp.ToolCallStatusFailed, textContent(e.RejectionReason))
	}
	return nil
}

// said returns the rest of a message.
func said(thought, thoughtSent, text, textSent string) []acp.SessionUpdate {
	var out []acp.SessionUpdate
	if rest := rest(thought, thoughtSent); rest != "" {
		out = append(out, acp.UpdateAgentThoughtText(rest))
	}
	if rest := rest(text, textSent); rest != "" {
		out = append(out, acp.UpdateAgentMessageText(rest))
	}
	return out
}

// rest returns the part of a text that was not sent: all of it if another one was sent.
func rest(text, sent string) string {
	if strings.TrimSpace(text) == strings.TrimSpace(sent) {
		return ""
	}
	if rest, ok := strings.CutPrefix(text, sent); ok {
		return rest
	}
	return "\n\n" + text
}

// action returns the updates for an action: most are tool calls.
func (t *translator) action(e *event.ActionEvent) []acp.SessionUpdate {
	switch a := e.Action.(type) {
	case *event.FinishAction:
		return said("", "", a.Message, "")
	case *event.ThinkAction:
		return said(a.Thought, "", "", "")
	case *event.TaskTrackerAction:
		if a.Command == "plan" {
			return []acp.SessionUpdate{acp.UpdatePlan(plan(a.TaskList)...)}
		}
		return nil
	case *event.TaskAction:
		child := event.ConversationID(e.ID)
		if a.Resume != nil {
			if id, ok := event.ParseConversationID(*a.Resume); ok {
				child = id
			}
		}
		t.tasks[child] = acp.ToolCallId(e.ID)
	}
	if event.IsACPPermission(e.ToolCallID) { // the call itself is shown
		return nil
	}
	id := acp.ToolCallId(e.ID)
	t.calls[e.ToolCallID] = id
	kind, paths := kindOf(e)
	opts := []acp.ToolCallStartOpt{acp.WithStartKind(kind), acp.WithStartStatus(acp.ToolCallStatusInProgress)}
	if arguments := json.RawMessage(e.ToolCall.Arguments); json.Valid(arguments) {
		opts = append(opts, acp.WithStartRawInput(arguments))
	}
	call := acp.StartToolCall(id, t.title(e), opts...)
	for _, path := range paths {
		call.ToolCall.Locations = append(call.ToolCall.Locations, acp.ToolCallLocation{Path: path})
	}
	return []acp.SessionUpdate{call}
}

// title is the line that a terminal shows for an action.
func (t *translator) title(e *event.ActionEvent) string {
	t.line.Reset()
	t.printer.Event(e)
	all := strings.Split(strings.TrimSpace(t.line.String()), "\n")
	line := all[len(all)-1] // thoughts come before it
	if line == "" {
		line = e.ToolName
	}
	return shortened(line)
}

func shortened(line string) string {
	if len(line) > maxTitle {
		return strings.ToValidUTF8(line[:maxTitle], "") + "…"
	}
	return line
}

// kinds are how clients show the classes of deeds of registered tools.
var kinds = map[string]acp.ToolKind{
	"command": acp.ToolKindExecute, "read": acp.ToolKindRead, "change": acp.ToolKindEdit, "search": acp.ToolKindSearch, "look": acp.ToolKindFetch,
}

// kindOf returns the kind of tool call for an action, and the files of the action.
func kindOf(e *event.ActionEvent) (kind acp.ToolKind, paths []string) {
	if e.Action == nil {
		return acp.ToolKindOther, nil
	}
	shown, _ := tool.ShownAs(e.Action.Kind())
	var args struct {
		Command  string `json:"command"`
		Path     string `json:"path"`
		FilePath string `json:"file_path"`
		Patch    string `json:"patch"`
	}
	_ = json.Unmarshal([]byte(e.ToolCall.Arguments), &args) // other types name no file
	class := shown.Of(args.Command).Class
	if class == "read" || class == "change" {
		paths = event.PatchedFiles(args.Patch)
		if path := cmp.Or(args.Path, args.FilePath); path != "" {
			paths = append(paths, path)
		}
	}
	return cmp.Or(kinds[class], acp.ToolKindOther), paths
}

// observation returns the updates for a result.
func (t *translator) observation(e *event.ObservationEvent) []acp.SessionUpdate {
	status := acp.ToolCallStatusCompleted
	if e.Observation.Result().IsError {
		status = acp.ToolCallStatusFailed
	}
	if status == acp.ToolCallStatusCompleted {
		var diffs []acp.ToolCallContent
		for _, f := range event.FileChanges(e.Observation) {
			if f.New != nil && (f.Old == nil || *f.Old != *f.New) {
				diff := acp.ToolDiffContent(f.Path, *f.New)
				diff.Diff.OldText = f.Old
				diffs = append(diffs, diff)
			}
		}
		if len(diffs) > 0 {
			return t.ended(e.ToolCallID, status, diffs)
		}
	}
	_, command := e.Observation.(*event.TerminalObservation)
	var content []acp.ToolCallContent
	for _, b := range blocks(e.Observation.Result().Content, command) {
		content = append(content, acp.ToolContent(b))
	}
	return t.ended(e.ToolCallID, status, content)
}

// runs reports whether a call has begun and not ended.
func (t *translator) runs(id acp.ToolCallId) bool {
	for _, one := range t.calls {
		if one == id {
			return true
		}
	}
	return false
}

// acpCall returns the updates for a tool call of another agent program.
func (t *translator) acpCall(e *event.ACPToolCallEvent) []acp.SessionUpdate {
	kind := acp.ToolKindOther
	if e.ToolKind != nil {
		kind = acp.ToolKind(*e.ToolKind)
	}
	var out []acp.SessionUpdate
	if _, known := t.calls[e.ToolCallID]; !known {
		id := acp.ToolCallId(e.ID)
		t.calls[e.ToolCallID] = id
		opts := []acp.ToolCallStartOpt{acp.WithStartKind(kind), acp.WithStartStatus(acp.ToolCallStatusInProgress)}
		if len(e.RawInput) > 0 {
			opts = append(opts, acp.WithStartRawInput(e.RawInput))
		}
		out = append(out, acp.StartToolCall(id, shortened(e.Title), opts...))
	}
	if !e.Over() {
		return out
	}
	text, changes := e.Shown()
	var content []acp.ToolCallContent
	for _, f := range changes {
		diff := acp.ToolDiffContent(f.Path, *f.New)
		diff.Diff.OldText = f.Old
		content = append(content, diff)
	}
	if text != "" {
		if kind == acp.ToolKindExecute {
			text = fenced(text)
		}
		content = append(content, textContent(text)...)
	}
	return append(out, t.ended(e.ToolCallID, acp.ToolCallStatus(*e.Status), content)...)
}

func (t *translator) ended(call string, status acp.ToolCallStatus, content []acp.ToolCallContent) []acp.SessionUpdate {
	id, ok := t.calls[call]
	if !ok { // it was a message, or a plan
		return nil
	}
	delete(t.calls, call)
	return []acp.SessionUpdate{acp.UpdateToolCall(id, acp.WithUpdateStatus(status), acp.WithUpdateContent(content))}
}

func textContent(text string) []acp.ToolCallContent {
	return []acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))}
}

// blocks are the blocks of a content; output is shown as it is.
func blocks(content []event.Content, output bool) (out []acp.ContentBlock) {
	for _, c := range content {
		if c.Type != event.TypeImage {
			if text := c.Text; output && text != "" {
				out = append(out, acp.TextBlock(fenced(text)))
			} else if text != "" {
				out = append(out, acp.TextBlock(text))
			}
			continue
		}
		for _, url := range c.ImageURLs {
			about, data, inline := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
			if inline && strings.HasPrefix(url, "data:") {
				out = append(out, acp.ImageBlock(data, about))
			} else {
				out = append(out, acp.ResourceLinkBlock("image", url))
			}
		}
	}
	return out
}

func plan(tasks []event.TaskItem) []acp.PlanEntry {
	out := []acp.PlanEntry{}
	for _, task := range tasks {
		status := acp.PlanEntryStatusPending
		switch task.Status {
		case event.TaskInProgress:
			status = acp.PlanEntryStatusInProgress
		case event.TaskDone:
			status = acp.PlanEntryStatusCompleted
		}
		out = append(out, acp.PlanEntry{Content: task.Title, Priority: acp.PlanEntryPriorityMedium, Status: status})
	}
	return out
}

// questionCall is the tool call of a question.
func questionCall(q confirmation.Question) acp.ToolCallUpdate {
	title := shortened(strings.TrimSuffix(q.Title+": "+q.Subject, ": "))
	if q.Form == confirmation.Command {
		title = shortened(strings.TrimSpace(q.Title + ": " + q.Text))
	}
	about := "Risk: " + string(q.Risk)
	if len(q.Reasons) > 0 {
		about += ": " + strings.Join(q.Reasons, "; ")
	}
	status := acp.ToolCallStatusPending
	return acp.ToolCallUpdate{
		ToolCallId: acp.ToolCallId(q.Action), Title: &title, Status: &status,
		Content: append(textContent(about), textContent(fenced(q.Text))...),
	}
}
