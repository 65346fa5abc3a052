// Package confirmation words the question to the user before an action: the same in
// the terminal, in the web app and for every other client.
//
// # Usage
//
//	for _, q := range confirmation.Questions(s, secrets.Mask) {
//		fmt.Println(q.Title, q.Subject, q.Risk)
//		fmt.Println(q.Text)
//	}
//
// # Concurrency and failure
//
// Everything is safe for concurrent use, and nothing fails. Text of models and MCP servers
// is hostile: a question has no control or hidden character, no known secret, and a bounded
// length.
package confirmation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/visible"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// Question is the question about one action.
type Question struct {
	Action event.ID `json:"action_id"`
	Tool   string   `json:"tool_name"`
	// Server is the MCP server of the tool, empty for none.
	Server string `json:"mcp_server,omitempty"`
	// Title is a short sentence of Deft's own, Subject the file or the like that it is about.
	Title   string `json:"title"`
	Subject string `json:"subject,omitempty"`
	// Text is the whole effect: a command, the lines that an edit removes and adds, or the
	// arguments. Form says which.
	Text string `json:"text"`
	Form Form   `json:"form"`
	// Omitted is the number of bytes in the middle of Text that are left out.
	Omitted int `json:"omitted,omitempty"`
	// Risk is the analyzer's rating, or without one the model's. Reasons are the analyzer's.
	Risk    event.Risk `json:"risk"`
	Reasons []string   `json:"reasons"`
	// Summary is the model's own description; empty for none.
	Summary string `json:"summary,omitempty"`
	// Kind is the kind of action that an answer for further actions covers, in words that follow
	// "always for"; empty where a part of Text is left out.
	Kind string `json:"always_for,omitempty"`
	// Own says that the action waits whatever the policy: it is of a tool that asks itself.
	Own bool `json:"-"`
	// Exactly says that the kind is this one command alone.
	Exactly bool `json:"-"`
}

// Form is the form of a Question's Text.
type Form string

// The forms.
const (
	Command   Form = "command"   // for a shell, or the input of a program
	Diff      Form = "diff"      // lines that begin with "- " or "+ "
	Plain     Form = "text"      // the content of a new file, or a patch
	Arguments Form = "arguments" // JSON
)

// RunCommand is the Title of a command for the shell, whose Text says it all.
const RunCommand = "Run a command"

const (
	maxText   = 256 << 10 // bytes of one text
	maxTexts  = 1 << 20   // bytes of all texts of a batch
	maxLine   = 2000      // bytes of one shown line
	maxReason = 8         // reasons of one action
)

// Questions returns the questions about the waiting actions of s. mask replaces known
// secrets; nil leaves the text unchanged.
func Questions(s *state.State, mask func(string) string) []Question {
	if mask == nil {
		mask = func(text string) string { return text }
	}
	servers := serversOf(s.View)
	out := make([]Question, len(s.Pending))
	for i, a := range s.Pending {
		q := described(a)
		q.Action, q.Tool, q.Summary = a.ID, a.ToolName, ownSummary(a)
		if _, ok := a.Action.(*event.MCPToolAction); ok {
			q.Server = servers[a.ToolName]
		}
		q.Kind, q.Exactly = kindOf(a, q)
		q.Risk, q.Reasons = rating(a, s.Analysis)
		for _, line := range []*string{&q.Tool, &q.Server, &q.Subject, &q.Summary, &q.Kind} {
			*line = oneLine(mask(*line))
		}
		for i, reason := range q.Reasons {
			q.Reasons[i] = oneLine(mask(reason))
		}
		q.Text, q.Omitted = shortened(mask(q.Text), min(maxText, maxTexts/len(s.Pending)))
		q.Text = visible.Text(q.Text)
		if q.Omitted > 0 {
			q.Kind, q.Exactly = "", false // nobody allows an unseen action for later
		}
		out[i] = q
	}
	return out
}

// described describes the effect of an action.
func described(a *event.ActionEvent) Question {
	switch act := a.Action.(type) {
	case tool.Asking:
		ask := act.Asks()
		return Question{Title: ask.Title, Text: signed("- ", ask.Before) + signed("+ ", ask.After), Form: Diff, Own: true}
	case *event.TerminalAction:
		return ofTerminal(act)
	case *event.FileEditorAction:
		return ofEditor(a, act)
	case *event.PlanningFileEditorAction:
		edit := event.FileEditorAction(*act)
		return ofEditor(a, &edit)
	case *event.EditAction:
		q := edited(act.FilePath, act.OldString, act.NewString)
		if act.ExpectedReplacements > 1 {
			q.Subject += fmt.Sprintf(" (%d times)", act.ExpectedReplacements)
		}
		return q
	case *event.WriteFileAction:
		return Question{Title: "Write a file", Subject: act.FilePath, Text: act.Content, Form: Plain}
	case *event.ApplyPatchAction:
		return Question{Title: "Apply a patch", Text: act.Patch, Form: Plain}
	case *event.MCPToolAction:
		q := Question{Title: "Use a tool of an MCP server", Text: a.ToolCall.Arguments, Form: Arguments}
		if len(act.Data) > 0 {
			q.Text = indented(act.Data)
		}
		return q
	}
	return ofSearch(a)
}

// ofSearch describes actions that look for files, tasks for sub-agents, and others by their
// arguments.
func ofSearch(a *event.ActionEvent) Question {
	in := func(dir *string) string {
		if dir == nil || *dir == "" {
			return ""
		}
		return " in " + *dir
	}
	switch act := a.Action.(type) {
	case *event.GlobAction:
		return Question{Title: "Find files by name", Subject: act.Pattern + in(act.Path), Form: Plain}
	case *event.GrepAction:
		return Question{Title: "Search in files", Subject: act.Pattern + in(act.Path), Form: Plain}
	case *event.TaskAction:
		return Question{Title: "Give a task to a sub-agent", Text: act.Prompt, Form: Plain}
	}
	return Question{Title: "Use a tool", Text: argumentsOf(a), Form: Arguments}
}

func ofTerminal(a *event.TerminalAction) Question {
	q := Question{Title: RunCommand, Text: a.Command, Form: Command}
	switch {
	case a.Reset:
		q.Title = "Start a new shell"
	case a.IsInput:
		q.Title = "Type into the running command"
	case a.Command == "":
		q.Title = "Wait for the running command"
	}
	return q
}

func ofEditor(a *event.ActionEvent, edit *event.FileEditorAction) Question {
	switch text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}; edit.Command {
	case event.EditCreate:
		return Question{Title: "Create a file", Subject: edit.Path, Text: text(edit.FileText), Form: Plain}
	case event.EditStrReplace:
		return edited(edit.Path, text(edit.OldStr), text(edit.NewStr))
	case event.EditInsert:
		q := edited(edit.Path, "", text(edit.NewStr))
		if edit.InsertLine != nil {
			q.Subject += fmt.Sprintf(" (after line %d)", *edit.InsertLine)
		}
		return q
	case event.EditUndo:
		return Question{Title: "Undo the last edit of a file", Subject: edit.Path, Form: Plain}
	}
	q := Question{Title: "Read a file", Subject: edit.Path, Form: Plain}
	if len(edit.ViewRange) == 2 {
		q.Subject += fmt.Sprintf(" (lines %d to %d)", edit.ViewRange[0], edit.ViewRange[1])
	}
	return q
}

// edited describes the replacement of a part of a file.
func edited(path, before, after string) Question {
	return Question{Title: "Edit a file", Subject: path, Text: signed("- ", before) + signed("+ ", after), Form: Diff}
}

// signed puts a sign before each line of a text.
func signed(sign, text string) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString(sign + line + "\n")
	}
	return b.String()
}

// argumentsOf are the arguments of an action as they are used, or its call's.
func argumentsOf(a *event.ActionEvent) string {
	raw, err := json.Marshal(a.Action)
	if a.Action == nil || err != nil {
		return a.ToolCall.Arguments
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return string(raw)
	}
	delete(fields, "kind")
	if raw, err = json.Marshal(fields); err != nil {
		return a.ToolCall.Arguments
	}
	return indented(raw)
}

func indented(raw json.RawMessage) string {
	var b strings.Builder
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if out.Encode(raw) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ownSummary is the model's description. Servers fill a missing one with the tool's name and
// its arguments, which is none.
func ownSummary(a *event.ActionEvent) string {
	if strings.HasPrefix(a.Summary, a.ToolName+": {") {
		return ""
	}
	return a.Summary
}

// rating returns the risk of an action and the reasons for it.
func rating(a *event.ActionEvent, analysis *event.SecurityAnalysisEvent) (risk event.Risk, reasons []string) {
	risk, reasons = a.SecurityRisk, []string{}
	if analysis != nil {
		if rated, ok := analysis.Risks[string(a.ID)]; ok {
			risk, reasons = rated, reasonsIn(analysis.Details[string(a.ID)])
		}
	}
	risk = cmp.Or(risk, event.RiskUnknown)
	return risk, reasons
}

// reasonsIn returns the reasons in the details of an analyzer, or of the analyzers of an
// ensemble, each once.
func reasonsIn(details json.RawMessage) []string {
	out := []string{}
	var of func(raw json.RawMessage, depth int)
	of = func(raw json.RawMessage, depth int) {
		var fields map[string]json.RawMessage
		if depth > 16 || json.Unmarshal(raw, &fields) != nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			var text string
			switch isText := json.Unmarshal(fields[name], &text) == nil; {
			case !isText:
				of(fields[name], depth+1)
			case (name == "reason" || name == "error") && !slices.Contains(out, text) && len(out) < maxReason:
				out = append(out, text)
			}
		}
	}
	of(details, 0)
	return out
}

// serversOf returns the names of MCP servers by the names of their tools.
func serversOf(view []event.Event) map[string]string {
	servers := map[string]string{}
	for _, ev := range view {
		prompt, ok := ev.(*event.SystemPromptEvent)
		if !ok {
			continue
		}
		for _, t := range prompt.Tools {
			var tool struct {
				Name string `json:"name"`
			}
			var meta struct {
				Server string `json:"mcp_server"`
			}
			if json.Unmarshal(t.MCPTool, &tool) == nil && json.Unmarshal(t.Meta, &meta) == nil {
				servers[tool.Name] = meta.Server
			}
		}
	}
	return servers
}

// oneLine makes foreign text fit for one line.
func oneLine(text string) string {
	end := ""
	if len(text) > maxLine {
		text, end = strings.ToValidUTF8(text[:maxLine], ""), " …"
	}
	return visible.Text(strings.ReplaceAll(text, "\n", " ⏎ ")) + end
}

// shortened leaves out the middle of a text that is longer than most bytes.
func shortened(text string, most int) (short string, omitted int) {
	if len(text) <= most {
		return text, 0
	}
	head, tail := most*3/4, len(text)-most/4
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	omitted = tail - head
	return fmt.Sprintf("%s\n… %d bytes are not shown …\n%s", text[:head], omitted, text[tail:]), omitted
}
