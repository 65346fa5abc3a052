// Package console shows a conversation in a terminal, or as lines for
// machines: steps as they happen, output of running commands, diffs, cost.
//
// # Usage
//
//	p := console.New(console.Options{Out: os.Stderr, Color: true})
//	for rec := range stream.Follow(…) { p.Event(rec) }
//	p.Output(action, chunk) // from the running command, between events
//
// # Concurrency
//
// A Printer is safe for concurrent use: events, deltas and output come from
// different goroutines and are written one after another.
//
// # Failure
//
// Write errors (a closed pipe) are ignored; the conversation continues. Text of
// the model, of commands and of files is hostile: control characters are made
// visible before they reach the terminal, and long texts are truncated.
package console

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/sgr"
	"github.com/deft-dev/deft/internal/visible"
	"github.com/deft-dev/deft/llm"
)

// Options configure a Printer.
type Options struct {
	Out   io.Writer
	Color bool
	// Lines bounds how much of a command's output or of a diff is shown;
	// default 12.
	Lines int
	// Thoughts shows the reasoning of models that return it, as it arrives.
	Thoughts bool
	// Progress shows the line that the running command writes again and again, as a progress bar
	// is; "" takes it away. Nil for not.
	Progress func(line string)
	// Full shows everything that events have, whatever Lines says: whole output,
	// files, arguments, reasoning, and the system prompt.
	Full bool
}

// Printer writes a conversation for a person.
type Printer struct {
	opts Options

	mu sync.Mutex
	// Parts of the screen.
	midLine  bool                     // the cursor is behind unfinished text
	item     event.ID                 // whose deltas came last
	thinking bool                     // and these were reasoning
	streamed event.ID                 // the item whose text has been shown as deltas
	lastText string                   // the agent's last message
	verdict  []byte                   // a critic's, about the finish that runs
	tails    map[event.ID]*lineWindow // output of the running actions, of which events may come later
	bar      string                   // of its progress
	running  map[event.ID]shown       // the actions without a result yet
	under    event.ID                 // the action whose lines came last
	next     event.ID                 // the one whose lines come next
	heading  string                   // stands before them
	// acpCalls are calls of another agent program whose beginning has been shown.
	acpCalls map[string]bool
	warned   map[string]*Warnings // of the conversation, under "", and of its sub-agents
}

// New returns a Printer.
func New(o Options) *Printer {
	if o.Lines <= 0 {
		o.Lines = 12
	}
	return &Printer{opts: o, warned: map[string]*Warnings{}, tails: map[event.ID]*lineWindow{}, running: map[event.ID]shown{}}
}

// The colours of a Printer, as SGR parameters.
const (
	dim    = "2"
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint wraps s in a colour, if colours are on.
func (p *Printer) paint(color, s string) string {
	if !p.opts.Color || s == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// write writes one piece; the caller holds mu.
func (p *Printer) write(s string) {
	if s == "" {
		return
	}
	p.midLine = !strings.HasSuffix(s, "\n")
	_, _ = io.WriteString(p.opts.Out, s) // a closed pipe must not stop the agent
}

// line writes a whole line, on a line of its own.
func (p *Printer) line(s string) {
	if p.midLine {
		p.write("\n")
	}
	if p.heading != "" {
		s, p.heading, p.under = p.heading+"\n"+s, "", p.next
	}
	p.write(s + "\n")
}

// block writes text with every line indented; of a text longer than the limit,
// head and tail.
func (p *Printer) block(color, text string) {
	w := lineWindow{max: p.opts.Lines, whole: p.opts.Full}
	for l := range strings.Lines(text) {
		w.add(strings.TrimSuffix(l, "\n"))
	}
	for _, l := range w.lines() {
		p.line("  " + p.paint(color, clean(l)))
	}
}

// detail shows the part that only a full view has, with a heading; the caller
// holds mu.
func (p *Printer) detail(heading, text string) {
	if text = strings.TrimSpace(text); p.opts.Full && text != "" {
		p.line("  " + p.paint(dim, heading+":"))
		p.block(dim, text)
	}
}

// Delta shows a piece of the model's answer as it arrives. The event with the
// id item then shows its text no more.
func (p *Printer) Delta(item event.ID, d llm.Delta) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.Reasoning != "" && p.opts.Thoughts {
		p.piece(item, true, p.paint(dim, cleanText(d.Reasoning)))
	}
	if d.Text != "" {
		p.piece(item, false, cleanText(d.Text))
		p.streamed = item
	}
}

// piece writes a part of an answer, on a line of its own where an answer, its
// text or its reasoning begins; the caller holds mu.
func (p *Printer) piece(item event.ID, thinking bool, s string) {
	if p.midLine && (p.item != item || p.thinking != thinking) {
		p.write("\n")
	}
	p.item, p.thinking = item, thinking
	p.write(s)
}

// Retry notes that the call to the model is repeated: the answer shown so far is
// discarded.
func (p *Printer) Retry(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.paint(yellow, "… "+clean(what)))
	p.item, p.streamed = "", ""
}

// Output shows output of a running action, with its colours if there are any here.
func (p *Printer) Output(action event.ID, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tail := p.tails[action]
	if tail == nil {
		tail = &lineWindow{max: p.opts.Lines, whole: p.opts.Full}
		p.tails[action] = tail
	}
	for _, l := range tail.feed(text) {
		p.of(action)
		p.line("  " + p.styled(l))
	}
	if bar := clean(sgr.Strip(tail.bar())); p.opts.Progress != nil && bar != p.bar {
		p.bar = bar
		p.opts.Progress(bar)
	}
}

// shown is an action that is shown.
type shown struct {
	call string // its id
	text string
}

// of says whose lines follow, where several actions run side by side.
func (p *Printer) of(action event.ID) {
	p.next, p.heading = action, ""
	if a, runs := p.running[action]; runs && p.under != action {
		p.heading = "  " + p.paint(dim, "of "+a.text+":")
	}
}

// styled is a line of a command's output: dim, and with the styles that it has.
func (p *Printer) styled(l string) string {
	if !p.opts.Color || !strings.Contains(l, "\x1b") {
		return p.paint(dim, clean(sgr.Strip(l)))
	}
	var b strings.Builder
	b.WriteString("\x1b[" + dim + "m")
	for l != "" {
		before, style, rest, whole := sgr.Cut(l)
		b.WriteString(clean(before))
		if !whole { // the line was cut there
			break
		}
		b.WriteString(style)
		l = rest
	}
	return b.String() + sgr.Reset
}

// EndLine ends a line that is unfinished.
func (p *Printer) EndLine() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.midLine {
		p.write("\n")
	}
}

// Note writes a line about the run itself.
func (p *Printer) Note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.paint(dim, cleanText(s)))
}

// Warn writes a line that the user should see.
func (p *Printer) Warn(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.paint(yellow, cleanText(s)))
}

// WarningMark returns an exclamation mark.
func WarningMark(color bool) string {
	p := Printer{opts: Options{Color: color}}
	return p.paint(yellow, "!")
}

// Mark returns a check mark or a cross.
func Mark(ok, color bool) string {
	p := Printer{opts: Options{Color: color}}
	if ok {
		return p.paint(green, "✓")
	}
	return p.paint(red, "✗")
}

// Line makes foreign text safe to show on one line: control characters, escapes
// among them, bytes that are no UTF-8, and characters that reorder or hide text
// become visible as U+FFFD.
func Line(s string) string { return clean(s) }

func clean(s string) string { return safe(s, false) }

// cleanText is clean for text with line breaks.
func cleanText(s string) string { return safe(s, true) }

func safe(s string, breaks bool) string {
	if breaks {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	var b strings.Builder
	b.Grow(len(s))
	before := ' '
	for _, r := range s {
		switch {
		case r == '\t', r == '\n' && breaks:
			b.WriteRune(r)
		case visible.Hides(r, before):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r) // also U+FFFD, which a bad byte reads as
		}
		before = r
	}
	return b.String()
}
