// Package console shows a conversation in a terminal, or as lines for
// machines: steps as they happen, output of running commands, diffs, cost.
//
// # Usage
//
//	p := console.New(console.Options{Out: os.Stderr, Color: true})
//	for rec := range stream.Follow(…) { p.Event(rec) }
//	p.Output(chunk)   // from the running command, between events
//
// # Concurrency
//
// A Printer is safe for concurrent use: events, deltas and output come from
// different goroutines and are written one after another.
//
// # Failure
//
// What cannot be written (a closed pipe) is dropped; the conversation goes
// on. Text of the model, of commands and of files is hostile: control
// characters are made visible before they reach the terminal.
package console

import (
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// Options configure a Printer.
type Options struct {
	Out   io.Writer
	Color bool
	// Lines bounds how much of a command's output or of a diff is shown;
	// default 12.
	Lines int
	// Thoughts shows the reasoning of models that give it.
	Thoughts bool
}

// Printer writes a conversation for a person.
type Printer struct {
	opts Options

	mu sync.Mutex
	// What is on the screen.
	midLine  bool       // the cursor is behind unfinished text
	streamed event.ID   // the item whose text has been shown as deltas
	lastText string     // the agent's last message
	tail     lineWindow // output of the running command
}

// New returns a Printer.
func New(o Options) *Printer {
	if o.Lines <= 0 {
		o.Lines = 12
	}
	return &Printer{opts: o, tail: lineWindow{max: o.Lines}}
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
	p.write(s + "\n")
}

// block writes text with every line indented, cut to the middle's notice when
// it is longer than the limit.
func (p *Printer) block(color, text string) {
	w := lineWindow{max: p.opts.Lines}
	for l := range strings.Lines(text) {
		w.add(strings.TrimRight(l, "\r\n"))
	}
	for _, l := range w.lines() {
		p.line("  " + p.paint(color, clean(l)))
	}
}

// Delta shows a piece of the model's answer as it arrives.
func (p *Printer) Delta(item event.ID, d llm.Delta) {
	text := d.Text
	if text == "" && p.opts.Thoughts {
		text = d.Reasoning
	}
	if text == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streamed != item {
		p.streamed = item
		if p.midLine {
			p.write("\n")
		}
	}
	p.write(cleanText(text))
}

// Retry says that the call to the model is made again, and drops what was
// shown of the first try.
func (p *Printer) Retry(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.paint(yellow, "… "+clean(what)))
	p.streamed = ""
}

// Output shows output of the running command.
func (p *Printer) Output(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.tail.feed(text) {
		p.line("  " + p.paint(dim, clean(l)))
	}
}

// Note writes a line about the run itself.
func (p *Printer) Note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.paint(dim, s))
}

// Warn writes a line that the user should see.
func (p *Printer) Warn(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.paint(yellow, s))
}

// clean makes a line of foreign text safe to show: control characters,
// escapes among them, and direction overrides become visible.
func clean(s string) string { return safe(s, false) }

// cleanText is clean for text with line breaks.
func cleanText(s string) string { return safe(s, true) }

func safe(s string, breaks bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t', r == '\n' && breaks:
			b.WriteRune(r)
		case r == utf8.RuneError, unicode.IsControl(r), bidi(r):
			b.WriteRune('\uFFFD')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// bidi reports characters that reorder what follows them, which can make a
// command look like another ("Trojan Source").
func bidi(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// Line makes foreign text safe to show on one line.
func Line(s string) string { return clean(s) }

// Mark returns a check mark or a cross.
func Mark(ok, color bool) string {
	p := Printer{opts: Options{Color: color}}
	if ok {
		return p.paint(green, "✓")
	}
	return p.paint(red, "✗")
}
