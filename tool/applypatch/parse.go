package applypatch

import (
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/tool/files"
)

// The kinds of operations, as the observation names them.
const (
	add    = "add"
	update = "update"
	remove = "delete"
)

// operation is the change of one file by a patch.
type operation struct {
	kind, path string
	to         string // the new name of an updated file; "" for the same
	text       string // of an added file
	hunks      []hunk
}

// hunk is one change within a file.
type hunk struct {
	line    int // of the patch, from 1
	anchors []string
	lines   []change
	eof     bool // it is at the end of the file
}

// change is a line of a hunk; op is ' ', '-' or '+'.
type change struct {
	op   byte
	text string
}

// old returns the lines of the file that a hunk names.
func (h hunk) old() (lines []string) {
	for _, c := range h.lines {
		if c.op != '+' {
			lines = append(lines, c.text)
		}
	}
	return lines
}

// The lines that structure a patch.
const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File: "
	updateFile = "*** Update File: "
	deleteFile = "*** Delete File: "
	moveTo     = "*** Move to: "
	endOfFile  = "*** End of File"
)

// parser reads the lines of a patch.
type parser struct {
	lines []string
	next  int
}

// parse reads a patch. Its errors are for the model.
func parse(patch string) (all []operation, err error) {
	p := &parser{lines: unwrap(patch)}
	last := len(p.lines) - 1
	if last < 1 || p.at(0) != beginPatch || p.at(last) != endPatch {
		return nil, files.Refuse("a patch begins with the line %q and ends with the line %q", beginPatch, endPatch)
	}
	p.lines, p.next = p.lines[:last], 1
	for p.next < last {
		one, err := p.operation()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, files.Refuse("the patch is empty; nothing was changed")
	}
	return all, nil
}

// heredoc is how models hand a patch to a program of this name.
var heredoc = lazyregexp.New(`^apply_patch\s*<<-?\s*["']?(\w+)["']?$`)

// unwrap returns the lines of a patch without a code fence or a shell's here-document around them.
func unwrap(patch string) []string {
	lines := strings.Split(strings.TrimSpace(files.PlainNewlines(patch)), "\n")
	last := len(lines) - 1
	if last < 1 {
		return lines
	}
	if end := heredoc().FindStringSubmatch(lines[0]); end != nil && lines[last] == end[1] || strings.HasPrefix(lines[0], "```") && lines[last] == "```" {
		return lines[1:last]
	}
	return lines
}

// at returns a line that may be one of structure, without blanks at its end.
func (p *parser) at(i int) string { return strings.TrimRight(p.lines[i], " \t") }

// structure reports whether the next line ends a part of an operation.
func (p *parser) structure() bool { return strings.HasPrefix(p.lines[p.next], "***") }

func (p *parser) refuse(format string, args ...any) error {
	return files.Refuse("line %d of the patch: "+format+"; nothing was changed", append([]any{p.next + 1}, args...)...)
}

// operation reads what follows for one file.
func (p *parser) operation() (o operation, err error) {
	line := p.at(p.next)
	for kind, prefix := range map[string]string{add: addFile, update: updateFile, remove: deleteFile} {
		if path, ok := strings.CutPrefix(line, prefix); ok {
			o.kind, o.path = kind, strings.TrimSpace(path)
		}
	}
	switch {
	case o.kind == "":
		return o, p.refuse("%.80q begins no file; that does %q, %q or %q", line, addFile, updateFile, deleteFile)
	case o.path == "":
		return o, p.refuse("the path is missing")
	}
	p.next++
	switch o.kind {
	case add:
		o.text, err = p.added()
	case update:
		err = p.updated(&o)
	}
	return o, err
}

// added reads the lines of a new file.
func (p *parser) added() (string, error) {
	var b strings.Builder
	for ; p.next < len(p.lines) && !p.structure(); p.next++ {
		text, ok := strings.CutPrefix(p.lines[p.next], "+")
		if !ok {
			return "", p.refuse("each line of an added file begins with +")
		}
		b.WriteString(text + "\n")
	}
	return b.String(), nil
}

// updated reads the new name and the hunks of a file.
func (p *parser) updated(o *operation) error {
	if p.next < len(p.lines) {
		if to, ok := strings.CutPrefix(p.at(p.next), moveTo); ok {
			if o.to = strings.TrimSpace(to); o.to == "" {
				return p.refuse("the new path is missing")
			}
			p.next++
		}
	}
	for p.next < len(p.lines) && (!p.structure() || p.at(p.next) == endOfFile) {
		h, err := p.hunk()
		if err != nil {
			return err
		}
		o.hunks = append(o.hunks, h)
	}
	if len(o.hunks) == 0 && o.to == "" {
		return p.refuse("the update of %s has no hunk", o.path)
	}
	return nil
}

// lineNumbers begin a hunk in other formats of patches; they are not needed.
var lineNumbers = lazyregexp.New(`^-\d+(,\d+)? \+\d+(,\d+)? @@ ?`)

// hunk reads one change within a file.
func (p *parser) hunk() (h hunk, err error) {
	h.line = p.next + 1
	for ; p.next < len(p.lines) && strings.HasPrefix(p.lines[p.next], "@@"); p.next++ {
		text := strings.TrimPrefix(p.lines[p.next][2:], " ")
		text = lineNumbers().ReplaceAllString(text, "")
		if strings.TrimSpace(text) != "" {
			h.anchors = append(h.anchors, text)
		}
	}
	for ; p.next < len(p.lines); p.next++ {
		line := p.lines[p.next]
		switch {
		case line == "":
			h.lines = append(h.lines, change{op: ' '}) // a blank line that stays, whose mark was lost
		case line[0] == ' ' || line[0] == '-' || line[0] == '+':
			h.lines = append(h.lines, change{line[0], line[1:]})
		case p.at(p.next) == endOfFile:
			h.eof = true
			p.next++
			return h, p.complete(h)
		case p.structure() || strings.HasPrefix(line, "@@"):
			return h, p.complete(h)
		default:
			return h, p.refuse("%.80q begins neither with a blank nor with - or +", line)
		}
	}
	return h, p.complete(h)
}

// complete refuses a hunk that changes nothing.
func (p *parser) complete(h hunk) error {
	for _, c := range h.lines {
		if c.op != ' ' {
			return nil
		}
	}
	p.next = h.line - 1
	return p.refuse("the hunk has no line with - or +")
}
