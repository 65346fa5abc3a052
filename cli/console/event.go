package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/internal/visible"
	"github.com/deft-dev/deft/tool"
)

// Event shows a stored event.
func (p *Printer) Event(ev event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.heading = "" }() // of a result without lines
	switch e := ev.(type) {
	case *event.SystemPromptEvent:
		p.detail("system prompt", e.SystemPrompt.Text)
	case *event.MessageEvent:
		p.message(e)
	case *event.ActionEvent:
		if !event.IsACPPermission(e.ToolCallID) { // the call is shown
			p.action(e)
		}
	case *event.ObservationEvent:
		if !event.IsACPPermission(e.ToolCallID) {
			p.ended(e.ActionID)
			p.observation(e.ActionID, e.Observation)
		}
	case *event.ACPToolCallEvent:
		p.acpCall(e)
	case *event.AgentErrorEvent:
		for _, action := range p.called(e.ToolCallID) {
			p.ended(action)
			p.rest(action)
		}
		p.failed(e.Error)
	case *event.HookExecutionEvent:
		p.hook(e)
	case *event.UserRejectObservation:
		p.ended(e.ActionID)
		p.line(p.paint(yellow, "  refused: "+clean(e.RejectionReason)))
	case *event.Condensation:
		p.line(p.paint(dim, fmt.Sprintf("condensed %d events", len(e.ForgottenEventIDs))))
	case *event.ConversationErrorEvent:
		p.line(p.paint(red, "✗ "+clean(e.Code)+": ") + strings.TrimSpace(cleanText(e.Detail)))
	case *event.PauseEvent:
		p.line(p.paint(yellow, "paused"))
	case *event.InterruptEvent:
		p.line(p.paint(yellow, "interrupted"))
	case *event.ConversationStateUpdateEvent:
		p.warnings("", e)
	}
}

// warnings shows the new warnings of a conversation, or of a sub-agent with a name.
func (p *Printer) warnings(name string, e *event.ConversationStateUpdateEvent) {
	seen := p.warned[name]
	if seen == nil {
		seen = &Warnings{}
		p.warned[name] = seen
	}
	if name != "" {
		name = "  " + clean(name) + " "
	}
	for _, text := range seen.New(e) {
		p.line(p.paint(yellow, name+"warning: "+cleanText(text)))
	}
}

// Warnings are the warnings of a conversation that were shown. The zero value is ready; it is not
// safe for concurrent use.
type Warnings struct{ shown map[string]bool }

// New returns the warnings in an update of a conversation's state that were not shown yet.
func (w *Warnings) New(e *event.ConversationStateUpdateEvent) (texts []string) {
	var all []string
	if e.Key != "warnings" || json.Unmarshal(e.Value, &all) != nil {
		return nil
	}
	for _, text := range all {
		if w.shown == nil {
			w.shown = map[string]bool{}
		}
		if !w.shown[text] {
			w.shown[text] = true
			texts = append(texts, text)
		}
	}
	return texts
}

// hook shows a hook that has blocked something or failed; of others the user hears only in full.
// The reason of a blocked call is shown with its refusal.
func (p *Printer) hook(e *event.HookExecutionEvent) {
	name := "hook " + strconv.Quote(clean(e.HookCommand)) + " at " + e.HookEventType
	switch {
	case e.Blocked:
		p.line(p.paint(yellow, "  "+name+" said no"))
		if e.HookEventType != "PreToolUse" {
			p.line(p.paint(yellow, "  "+clean(strings.TrimSpace(textOf(e.Reason)+" "+e.Stderr))))
		}
	case !e.Success:
		why := textOf(e.Error)
		if why == "" {
			why = fmt.Sprintf("exit code %d %s", e.ExitCode, e.Stderr)
		}
		p.line(p.paint(yellow, "  "+name+" failed: "+clean(strings.TrimSpace(why))))
	default:
		p.detail(name, strings.TrimSpace(e.Stdout+e.Stderr))
	}
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (p *Printer) message(e *event.MessageEvent) {
	p.detail("reasoning", e.LLMMessage.ReasoningContent)
	text := strings.TrimSpace(event.JoinText(e.LLMMessage.Content))
	p.lastText = "" // an answer to another message is shown, though it is the same
	if e.Source == event.SourceAgent {
		p.lastText = text
	}
	switch {
	case text == "" || e.Source == event.SourceAgent && p.streamed == e.ID:
		if p.midLine {
			p.write("\n")
		}
	case e.Source == event.SourceUser:
		p.task(text)
	case e.Source == event.SourceAgent:
		p.line(cleanText(text))
	default:
		p.line(p.paint(dim, cleanText(text)))
	}
	p.detail("added for the model", event.JoinText(e.ExtendedContent))
	p.criticised(e.CriticResult)
}

// criticised shows the result of a critic.
func (p *Printer) criticised(raw json.RawMessage) {
	if r, ok := critic.Read(raw); ok {
		p.line(p.paint(dim, "  critic: "+clean(r.Summary())))
	}
}

// task shows a message of the user. The middle of a long one, such as a log from a pipe, is
// left out.
func (p *Printer) task(text string) {
	w := lineWindow{max: 2 * p.opts.Lines, whole: p.opts.Full}
	for l := range strings.Lines(text) {
		w.add(strings.TrimSuffix(l, "\n"))
	}
	prefix := p.paint(bold, "> ")
	for _, l := range w.lines() {
		p.line(prefix + clean(l))
		prefix = ""
	}
}

func (p *Printer) action(e *event.ActionEvent) {
	p.detail("reasoning", e.ReasoningContent)
	if thought := strings.TrimSpace(event.JoinText(e.Thought)); thought != "" && p.streamed != e.ID {
		p.line(cleanText(thought))
	}
	mark, text, faint := p.does(e)
	if p.under = e.ID; text != "" {
		p.running[e.ID] = shown{e.ToolCallID, FirstLine(mark + " " + text)}
	}
	switch {
	case text == "":
	case faint:
		p.line(p.paint(cyan, mark+" ") + p.paint(dim, text))
	default:
		p.line(p.paint(cyan, mark+" ") + text)
	}
	if _, finish := e.Action.(*event.FinishAction); finish {
		p.verdict = e.CriticResult // shown behind the answer
	} else {
		p.criticised(e.CriticResult)
	}
}

// does describes an action: a mark and a text, which is faint where it is Deft's own words. An
// action that its result shows has no text.
func (p *Printer) does(e *event.ActionEvent) (mark, text string, faint bool) {
	switch a := e.Action.(type) {
	case *event.TerminalAction:
		switch {
		case a.Reset && a.Command == "":
			return "$", "starts a new shell", true
		case a.IsInput:
			return "<", clean(a.Command), false
		case a.Command == "":
			return "…", "waits for output", true
		}
		return "$", strings.ReplaceAll(cleanText(strings.TrimSpace(a.Command)), "\n", "\n  "), false
	case *event.FileEditorAction:
		return "✎", clean(a.Command + " " + a.Path), false
	case *event.PlanningFileEditorAction:
		return "✎", clean(a.Command + " " + a.Path), false
	case *event.WriteFileAction, *event.EditAction:
		return "✎", clean(p.call(e)), false
	case *event.ApplyPatchAction:
		return "✎", clean(p.call(e) + " " + p.short(strings.Join(event.PatchedFiles(a.Patch), ", "))), false
	case *event.TaskTrackerAction, *event.FinishAction:
		return "", "", false
	case *event.ThinkAction:
		return "·", clean(p.short(a.Thought)), true
	case nil:
		return "?", clean(e.ToolName), false
	}
	return "•", clean(p.call(e)), false
}

// SubAgent shows an event of a sub-agent in a line; most events have none.
func (p *Printer) SubAgent(name string, ev event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if up, ok := ev.(*event.ConversationStateUpdateEvent); ok {
		p.warnings(name, up)
	}
	e, ok := ev.(*event.ActionEvent)
	if !ok {
		return
	}
	if mark, text, _ := p.does(e); text != "" {
		p.line(p.paint(dim, "  "+clean(name)+" ") + p.paint(cyan, mark+" ") + p.paint(dim, FirstLine(text)))
	}
}

// call words a call by its tool's registration, or as the tool's name and the arguments.
func (p *Printer) call(e *event.ActionEvent) string {
	shown, ok := tool.ShownAs(e.Action.Kind())
	var arguments map[string]any
	if !ok || json.Unmarshal([]byte(e.ToolCall.Arguments), &arguments) != nil {
		return e.ToolName + " " + p.short(e.ToolCall.Arguments)
	}
	command, _ := arguments["command"].(string)
	line := shown.Of(command).Verb
	for _, name := range shown.Subjects {
		if subject, ok := arguments[name].(string); ok && subject != "" {
			return line + " " + p.short(subject)
		}
	}
	return line
}

// hints shows the model's hints that name a flag: about hosts, directories and resources that
// only the user can allow. They follow the output of a command, or an error.
func (p *Printer) hints(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "[") {
			continue
		}
		for _, flag := range []string{"--net", "--read", "--write", "--memory", "--pids"} {
			if strings.Contains(line, flag) {
				p.line(p.paint(yellow, "  "+clean(strings.Trim(line, "[]"))))
				break
			}
		}
	}
}

// hintBehind shows the hint that stands behind a result.
func (p *Printer) hintBehind(r *event.ObservationBase) {
	if n := len(r.Content); n > 1 {
		p.hints(r.Content[n-1].Text)
	}
}

// called returns the running action of a call, or all that have output where none is known.
func (p *Printer) called(id string) []event.ID {
	for action, a := range p.running {
		if a.call == id {
			return []event.ID{action}
		}
	}
	return slices.Sorted(maps.Keys(p.tails))
}

// ended says whose result follows.
func (p *Printer) ended(action event.ID) {
	p.of(action)
	delete(p.running, action)
}

func (p *Printer) observation(action event.ID, o event.Observation) {
	live := p.rest(action)
	r := o.Result()
	text := event.JoinText(r.Content)
	switch x := o.(type) {
	case *event.TerminalObservation:
		if !live {
			p.block(dim, text)
		}
		if x.ExitCode != nil && *x.ExitCode > 0 {
			p.line(p.paint(red, fmt.Sprintf("  exit %d", *x.ExitCode)))
		} else if !r.IsError && (x.ExitCode == nil || *x.ExitCode < 0) { // else it was not run, or nobody knows
			p.line(p.paint(yellow, "  still running"))
		}
		p.hints(x.Metadata.Suffix)
	case *event.FileEditorObservation, *event.PlanningFileEditorObservation, *event.WriteFileObservation, *event.EditObservation, *event.ApplyPatchObservation, *event.ReadFileObservation:
		p.files(event.FileChanges(x), text, r.IsError)
		if !r.IsError {
			p.hintBehind(r)
		}
	case *event.TaskTrackerObservation:
		p.tasks(x.TaskList)
	case *event.FinishObservation:
		p.say(text)
		p.criticised(p.verdict)
		p.verdict = nil
	case *event.ThinkObservation:
	default:
		switch shown, _ := tool.ShownAs(strings.TrimSuffix(o.Kind(), "Observation") + "Action"); {
		case live && shown.Class == "command": // its output was shown as it came
			if r.IsError {
				p.line(p.paint(red, "  failed"))
			}
			p.hintBehind(r)
		case r.IsError:
			p.failed(text)
		default:
			p.block(dim, text)
		}
		p.pictures(r.Content)
	}
}

// pictures says how many pictures a result has, which a terminal does not show.
func (p *Printer) pictures(content []event.Content) {
	n := 0
	for _, c := range content {
		n += len(c.ImageURLs)
	}
	switch {
	case n == 1:
		p.line(p.paint(dim, "  1 picture"))
	case n > 1:
		p.line(p.paint(dim, fmt.Sprintf("  %d pictures", n)))
	}
}

// files shows the result of a tool on files: the changes, or its text on request.
func (p *Printer) files(changes []event.FileChange, text string, failed bool) {
	changes = slices.DeleteFunc(changes, func(c event.FileChange) bool { return c.Old == nil && c.New == nil })
	switch {
	case failed:
		p.failed(text)
		return
	case len(changes) == 0 && p.opts.Full:
		p.block(dim, text)
	}
	for _, c := range changes {
		if len(changes) > 1 {
			p.line("  " + p.paint(dim, clean(c.Path)))
		}
		p.diff(optional.Value(c.Old), optional.Value(c.New))
	}
}

// acpCall shows a tool call of another agent program: its title when it begins, its result when it
// ends.
func (p *Printer) acpCall(e *event.ACPToolCallEvent) {
	if p.acpCalls == nil {
		p.acpCalls = map[string]bool{}
	}
	if !p.acpCalls[e.ToolCallID] {
		p.acpCalls[e.ToolCallID] = true
		mark := map[string]string{"execute": "$", "edit": "✎", "think": "·"}[textOf(e.ToolKind)]
		p.line(p.paint(cyan, cmp.Or(mark, "•")+" ") + clean(strings.Trim(e.Title, "`")))
	}
	if !e.Over() {
		return
	}
	delete(p.acpCalls, e.ToolCallID)
	text, changes := e.Shown()
	if e.IsError && text == "" {
		text = "it has failed"
	}
	switch {
	case e.IsError:
		p.failed(text)
	case len(changes) > 0:
		p.files(changes, text, false)
	default:
		p.block(dim, text)
	}
}

// rest shows the remaining output of an action and reports whether any of it was
// shown as it ran.
func (p *Printer) rest(action event.ID) bool {
	tail := p.tails[action]
	if tail == nil {
		return false
	}
	delete(p.tails, action)
	lines, any := tail.finish()
	if p.bar != "" {
		p.bar = ""
		p.opts.Progress("")
	}
	for _, l := range lines {
		p.line("  " + p.styled(l))
	}
	return any
}

func (p *Printer) diff(before, after string) {
	w := lineWindow{max: 2 * p.opts.Lines, whole: p.opts.Full}
	for i, l := range strings.Split(strings.TrimSuffix(udiff.Unified("before", "after", before, after), "\n"), "\n") {
		if i >= 2 { // the file's name stands above
			w.add(l)
		}
	}
	for _, l := range w.lines() {
		color := dim
		switch {
		case strings.HasPrefix(l, "+"):
			color = green
		case strings.HasPrefix(l, "-"):
			color = red
		}
		p.line("  " + p.paint(color, clean(l)))
	}
}

// Question shows the subject of a question to the user: a heading, and lines below it, which a diff
// colours.
func (p *Printer) Question(heading string, lines []string, diff bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.paint(yellow, clean(heading)))
	for _, l := range lines {
		color := ""
		switch {
		case diff && strings.HasPrefix(l, "+"):
			color = green
		case diff && strings.HasPrefix(l, "-"):
			color = red
		}
		if l = clean(l); color != "" {
			l = p.paint(color, l)
		}
		p.line("    " + l)
	}
}

func (p *Printer) tasks(list []event.TaskItem) {
	mark := map[string]string{"done": "✓", "in_progress": "▸"}
	for _, t := range list {
		m := mark[t.Status]
		m = cmp.Or(m, "·")
		p.line("  " + p.paint(cyan, m) + " " + clean(t.Title))
	}
}

// short is a text on one line; its beginning, unless everything is shown.
func (p *Printer) short(s string) string {
	if p.opts.Full {
		return strings.Join(strings.Fields(s), " ")
	}
	return FirstLine(s)
}

// FirstLine is the first line of a text, with an ellipsis where there is more. A part of it may be
// foreign: see [Line].
func FirstLine(s string) string {
	l, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if len(l) > 200 {
		l, more = strings.ToValidUTF8(l[:200], ""), true
	}
	if more {
		l += " …"
	}
	return l
}

// Answer shows the agent's final words, unless they are on the screen.
func (p *Printer) Answer(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say(text)
}

// say shows the agent's words unless they were its last; the caller holds mu.
func (p *Printer) say(text string) {
	if text = strings.TrimSpace(text); text != "" && text != p.lastText {
		p.line("\n" + cleanText(text))
		p.lastText = text
	}
}

// failed shows why something failed; the caller holds mu.
func (p *Printer) failed(why string) {
	if p.opts.Full {
		p.line(p.paint(red, "  ✗ failed"))
		p.block(red, why)
		return
	}
	p.line(p.paint(red, "  ✗ "+clean(FirstLine(why))))
	p.hints(why)
}

// jsonWriter escapes characters that a terminal must not get.
type jsonWriter struct {
	out  io.Writer
	rest []byte // the beginning of a character
}

// NewJSONWriter returns a writer for JSON texts that a terminal shows. Characters
// that control the terminal, or that reorder or hide text, are written as the
// escapes of JSON, so that the value remains the same. It is not safe for
// concurrent use.
func NewJSONWriter(out io.Writer) io.Writer { return &jsonWriter{out: out} }

// Write implements [io.Writer]. A character that is not complete is written with
// its end.
func (w *jsonWriter) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, `\ufffd`...)
		case r < utf8.RuneSelf || visible.Plain(r):
			out = append(out, text[:size]...) // JSON itself escapes the controls of ASCII
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	w.rest = append([]byte{}, text...)
	if _, err := w.out.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
