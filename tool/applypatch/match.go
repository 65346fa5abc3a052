package applypatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/tool/files"
)

// The fuzz of lines that are not in the file to the letter, as the reference counts it.
const (
	fuzzAnchor = 1 // a named line differs in its indentation
	fuzzEnds   = 1 // blanks at the ends of lines
	fuzzIndent = 100
	fuzzPlace  = 10_000 // the end of the file is elsewhere
)

// apply returns the text of a file after its hunks, and how inexactly they were found.
func apply(ctx context.Context, path string, l files.Lines, hunks []hunk) (after string, fuzz int, err error) {
	lines := files.Split(l.Text)
	starts := make([]int, 1, len(lines)+1)
	for _, line := range lines {
		starts = append(starts, min(starts[len(starts)-1]+len(line)+1, len(l.Text)))
	}
	unfinished := l.Text != "" && !strings.HasSuffix(l.Text, "\n")
	var edits []files.Edit
	from := 0
	for _, h := range hunks {
		if err := ctx.Err(); err != nil {
			return "", 0, err
		}
		at, n, inexact, err := h.locate(path, lines, from)
		if err != nil {
			return "", 0, err
		}
		fuzz += inexact
		edits = append(edits, h.edits(at, starts, unfinished)...)
		from = at + n
	}
	return l.Splice(edits...), fuzz, nil
}

// edits are the replacements of a hunk whose lines begin at a line of the file. Lines that
// stay are not among them.
func (h hunk) edits(at int, starts []int, unfinished bool) (all []files.Edit) {
	last := len(starts) - 1 // behind the last line
	for i := 0; i < len(h.lines); {
		if h.lines[i].op == ' ' {
			at++
			i++
			continue
		}
		begin, added := at, []string(nil)
		for ; i < len(h.lines) && h.lines[i].op != ' '; i++ {
			if h.lines[i].op == '-' {
				at++
			} else {
				added = append(added, h.lines[i].text)
			}
		}
		e := files.Edit{From: starts[begin], To: starts[at], With: strings.Join(added, "\n")}
		switch {
		case len(added) == 0:
		case at < last || !unfinished:
			e.With += "\n"
		case begin == last: // behind a line that has no newline
			e.With = "\n" + e.With
		}
		all = append(all, e)
	}
	return all
}

// locate finds the lines of a hunk from a line of the file on: the first of them, their number, and
// how inexactly they were found.
func (h hunk) locate(path string, lines []string, from int) (at, n, fuzz int, err error) {
	from, named, fuzz, missing := h.seek(lines, from)
	old := h.old()
	if len(old) == 0 {
		switch {
		case h.eof || len(lines) == 0:
			return len(lines), 0, fuzz, nil
		case named && missing == "":
			return from, 0, fuzz, nil
		}
		return 0, 0, 0, files.Refuse("line %d of the patch: the hunk says not where in %s its lines come; give lines that stay, a line of the file after @@, or %q. Nothing was changed.", h.line, path, endOfFile)
	}
	start := from
	if named && missing == "" {
		start-- // the hunk may begin with the named line
	}
	at, inexact := h.find(lines, old, from)
	if at < 0 && start < from {
		at, inexact = h.find(lines, old, start)
	}
	for at < 0 && len(old) > 1 && old[len(old)-1] == "" && h.lines[len(h.lines)-1] == (change{op: ' '}) {
		h.lines, old = h.lines[:len(h.lines)-1], old[:len(old)-1] // a blank line too many
		at, inexact = h.find(lines, old, start)
	}
	switch {
	case at < 0:
		return 0, 0, 0, h.notFound(path, lines, old, from)
	case missing != "":
		if again, _ := h.find(lines, old, at+1); again >= 0 {
			return 0, 0, 0, files.Refuse("line %d of the patch: %q is not a line of %s, and the lines of the hunk are there several times, at %d and %d. Nothing was changed.", h.line, missing, path, at+1, again+1)
		}
	}
	return at, len(old), fuzz + inexact, nil
}

// seek goes to the line behind the named ones. missing is the first that is not there.
func (h hunk) seek(lines []string, from int) (to int, named bool, fuzz int, missing string) {
	to = from
	for _, anchor := range h.anchors {
		i := slices.Index(lines[to:], anchor)
		if i < 0 {
			i = slices.IndexFunc(lines[to:], func(l string) bool { return strings.TrimSpace(l) == strings.TrimSpace(anchor) })
			fuzz += fuzzAnchor
		}
		if i < 0 {
			return from, true, 0, anchor
		}
		to += i + 1
	}
	return to, len(h.anchors) > 0, fuzz, ""
}

// find returns the first line from which on the lines of a file are old, or -1.
func (h hunk) find(lines, old []string, from int) (at, fuzz int) {
	levels := []struct {
		fuzz int
		norm func(string) string
	}{
		{0, func(s string) string { return s }},
		{fuzzEnds, func(s string) string { return strings.TrimRight(s, " \t\r") }},
		{fuzzIndent, strings.TrimSpace},
	}
	if end := len(lines) - len(old); h.eof && end >= from {
		for _, level := range levels {
			if index(lines[end:], old, level.norm) == 0 {
				return end, level.fuzz
			}
		}
	}
	for _, level := range levels {
		if i := index(lines[min(from, len(lines)):], old, level.norm); i >= 0 {
			if h.eof {
				level.fuzz += fuzzPlace
			}
			return from + i, level.fuzz
		}
	}
	return -1, 0
}

// index returns the first line at which old begins in lines, by their normal forms, or -1. Its
// cost does not grow with the product of both.
func index(lines, old []string, norm func(string) string) int {
	joined := func(lines []string) string {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString("\n" + norm(l))
		}
		return b.String() + "\n"
	}
	text := joined(lines)
	i := strings.Index(text, joined(old))
	if i < 0 {
		return -1
	}
	return strings.Count(text[:i], "\n")
}

// notFound says which lines are not in the file.
func (h hunk) notFound(path string, lines, old []string, from int) error {
	where := ""
	if from > 0 {
		where = fmt.Sprintf(" (hunks come in the order of the file; this one was looked for from line %d on)", from+1)
	}
	err := files.NotFound("the hunk", path, strings.Join(lines, "\n"), strings.Join(old, "\n"))
	return files.Refuse("line %d of the patch: %v%s", h.line, err, where)
}
