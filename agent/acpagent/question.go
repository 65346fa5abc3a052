package acpagent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// question is a permission that the program asks for.
type question struct {
	call    callUpdate
	options []acp.PermissionOption
	answer  chan acp.RequestPermissionOutcome // holds one
	action  event.ID                          // by which the conversation asks
}

// merge adds the known parts of the call.
func (q *question) merge(known *call) {
	if known == nil {
		return
	}
	whole := known.callUpdate
	whole.merge(&q.call)
	q.call = whole
}

// ask makes actions of questions, in one answer.
func (u *turn) ask(asked []*question) []event.Event {
	var evs []event.Event
	response := string(event.NewID())
	for _, q := range asked {
		ev := q.asAction(u.p.a)
		ev.LLMResponseID, ev.Summary = response, u.p.a.shortened(text(q.call.Title), maxTitle)
		ev.ToolCallID = event.NewACPPermission()
		ev.ToolCall.ID, q.action = ev.ToolCallID, ev.ID
		evs = append(evs, ev)
	}
	return evs
}

// The tools by which permissions are asked for, as Deft's own agent has them: policies, hooks and
// answers for later hold for both.
const (
	commandTool = "terminal"
	editTool    = "file_editor"
	patchTool   = "apply_patch"
)

// Permissions are the definitions of the tools by which permissions are asked for. Their actions are
// run by the executor of [NewPermission], which only grants them.
func Permissions() []*tool.Definition {
	var defs []*tool.Definition
	for _, d := range []struct {
		name, kind string
		decode     func(json.RawMessage) (event.Action, error)
	}{
		{commandTool, (&event.TerminalAction{}).Kind(), tool.DecodeInto[event.TerminalAction]},
		{editTool, (&event.FileEditorAction{}).Kind(), tool.DecodeInto[event.FileEditorAction]},
		{patchTool, (&event.ApplyPatchAction{}).Kind(), tool.DecodeInto[event.ApplyPatchAction]},
		{event.ACPTool, (&event.MCPToolAction{}).Kind(), tool.DecodeInto[event.MCPToolAction]},
	} {
		defs = append(defs, &tool.Definition{
			Name: d.name, Kind: "ACPPermission", ActionKind: d.kind, ObservationKind: (&event.MCPToolObservation{}).Kind(), Local: true,
			Decode: d.decode, Locks: func(event.Action) []string { return nil },
		})
	}
	return defs
}

// asAction is the action that the program of an agent asks for.
func (q *question) asAction(a *Agent) *event.ActionEvent {
	var input struct {
		Command json.RawMessage `json:"command"`
		Path    string          `json:"path"`
		File    string          `json:"file_path"`
	}
	_ = json.Unmarshal(q.call.RawInput, &input) // another form has none of it
	switch acp.ToolKind(text(q.call.Kind)) {
	case acp.ToolKindExecute:
		if command := commandOf(input.Command, text(q.call.Title)); command != "" {
			return newAction(commandTool, &event.TerminalAction{Command: command}, map[string]any{"command": command})
		}
	case acp.ToolKindEdit, acp.ToolKindDelete, acp.ToolKindMove:
		if ev := editOf(diffsIn(q.call.Content)); ev != nil {
			return ev
		}
	case acp.ToolKindRead:
		path := input.Path + input.File
		if path == "" && len(q.call.Locations) > 0 {
			path = q.call.Locations[0].Path
		}
		if path != "" {
			return newAction(editTool, &event.FileEditorAction{Command: event.EditView, Path: path}, map[string]any{"command": event.EditView, "path": path})
		}
	}
	about := map[string]any{"title": a.shortened(text(q.call.Title), maxTitle), "kind": a.word(q.call.Kind)}
	if raw := a.bounded(q.call.RawInput); raw != nil {
		about["input"] = raw
	}
	if texts := a.textsIn(q.call.Content); len(texts) > 0 {
		about["content"] = texts
	}
	data, err := json.Marshal(about)
	if err != nil {
		data = []byte("{}")
	}
	return newAction(event.ACPTool, &event.MCPToolAction{Data: data}, json.RawMessage(data))
}

// commandOf is the command of a call: its input's, or else its title, which editors show.
func commandOf(raw json.RawMessage, title string) string {
	var line string
	if json.Unmarshal(raw, &line) == nil && line != "" {
		return line
	}
	var words []string
	if json.Unmarshal(raw, &words) == nil && len(words) > 0 {
		if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") { // bash -lc "…"
			return words[2]
		}
		for i, w := range words {
			words[i] = quoted(w)
		}
		return strings.Join(words, " ")
	}
	return strings.Trim(strings.TrimSpace(title), "`")
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// diff is a change of a file.
type diff struct {
	Type string  `json:"type"`
	Path string  `json:"path"`
	Old  *string `json:"oldText"`
	New  string  `json:"newText"`
}

func diffsIn(content []json.RawMessage) (all []diff) {
	for _, raw := range content {
		var d diff
		if json.Unmarshal(raw, &d) == nil && d.Type == "diff" && d.Path != "" {
			all = append(all, d)
		}
	}
	return all
}

// editOf is the action that makes changes; nil for none.
func editOf(all []diff) *event.ActionEvent {
	switch {
	case len(all) == 0:
		return nil
	case len(all) > 1:
		var b strings.Builder
		b.WriteString("*** Begin Patch\n")
		for _, d := range all {
			if d.Old == nil {
				fmt.Fprintf(&b, "*** Add File: %s\n%s", d.Path, prefixed("+", d.New))
				continue
			}
			fmt.Fprintf(&b, "*** Update File: %s\n@@\n%s%s", d.Path, prefixed("-", *d.Old), prefixed("+", d.New))
		}
		b.WriteString("*** End Patch")
		return newAction(patchTool, &event.ApplyPatchAction{Patch: b.String()}, map[string]any{"patch": b.String()})
	}
	d := all[0]
	if d.Old == nil {
		return newAction(editTool, &event.FileEditorAction{Command: event.EditCreate, Path: d.Path, FileText: &d.New},
			map[string]any{"command": event.EditCreate, "path": d.Path, "file_text": d.New})
	}
	return newAction(editTool, &event.FileEditorAction{Command: event.EditStrReplace, Path: d.Path, OldStr: d.Old, NewStr: &d.New},
		map[string]any{"command": event.EditStrReplace, "path": d.Path, "old_str": *d.Old, "new_str": d.New})
}

func prefixed(mark, text string) string {
	if text == "" {
		return ""
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return mark + strings.Join(lines, "\n"+mark) + "\n"
}

func (a *Agent) textsIn(content []json.RawMessage) (all []string) {
	for _, raw := range content {
		var block struct {
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		}
		if json.Unmarshal(raw, &block) == nil && block.Content.Text != "" {
			all = append(all, a.shortened(block.Content.Text, maxText))
		}
	}
	return all
}

// answer answers the questions that the view has answers to, and returns the reasons for refusals.
// An action that was allowed has an observation.
func (u *turn) answer(view []event.Event) (reasons []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = slices.DeleteFunc(u.asked, func(q *question) bool {
		if q.action == "" {
			return false
		}
		for _, ev := range slices.Backward(view) {
			switch e := ev.(type) {
			case *event.ObservationEvent:
				if e.ActionID == q.action {
					q.answer <- q.chosen(!e.Observation.Result().IsError)
					return true
				}
			case *event.UserRejectObservation:
				if e.ActionID == q.action {
					q.answer <- q.chosen(false)
					if e.RejectionReason != "" {
						reasons = append(reasons, text(q.call.Title)+": "+e.RejectionReason)
					}
					return true
				}
			case *event.ActionEvent:
				if e.ID == q.action { // it was answered with an error, or not at all
					q.answer <- cancelled()
					return true
				}
			}
		}
		q.answer <- cancelled()
		return true
	})
	return reasons
}

// refuse answers all questions, also later ones, as a turn does that is cancelled.
func (u *turn) refuse() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	for _, q := range u.asked {
		q.answer <- cancelled()
	}
	u.asked = nil
}

func cancelled() acp.RequestPermissionOutcome { return acp.NewRequestPermissionOutcomeCancelled() }

// chosen is the option for yes or no. Answers for later are kept by the conversation, not by the
// program, so the option for once comes first.
func (q *question) chosen(yes bool) acp.RequestPermissionOutcome {
	kinds := []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways}
	if yes {
		kinds = []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways}
	}
	for _, kind := range kinds {
		for _, o := range q.options {
			if o.Kind == kind {
				return acp.NewRequestPermissionOutcomeSelected(o.OptionId)
			}
		}
	}
	return cancelled()
}
