package security

import (
	"maps"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"mvdan.cc/sh/v3/syntax"
)

// redirect analyzes the redirections of a statement, in order, and returns its new
// standard input and output; to is nil for an output that stays.
func (cr *commandReader) redirect(redirs []*syntax.Redirect, stdin text) (in text, to *output) {
	in = stdin
	for _, r := range redirs {
		if read, ok := cr.input(r); ok {
			if fd := descriptor(r, "0"); fd != "0" {
				cr.opened(fd, read)
			} else {
				in, in.piped = read, true
			}
			continue
		}
		w := cr.one(r.Word)
		if !writes(r, w) || !w.known && w.s == "" && w.sink == nil {
			continue
		}
		file, fd := cr.clean(w.s), descriptor(r, "1")
		if device(file) {
			cr.report(railDisk, "a device is written to: "+w.s)
		}
		if network(file) {
			cr.opened(fd, text{fetched: true})
		}
		switch {
		case r.Op == syntax.RdrInOut && descriptor(r, "0") == "0":
			in = cr.file(w)
			in.piped = true
		case fd == "1":
			to = &output{text: w, file: file, append: r.Op == syntax.AppOut || r.Op == syntax.AppAll}
		}
	}
	return in, to
}

// output is where a redirection writes.
type output struct {
	text
	file   string
	append bool
}

// write notes a statement's output, and returns the rest of it for the reader of
// its output.
func (cr *commandReader) write(to *output, out text) text {
	switch {
	case to == nil:
		return out
	case to.sink != nil:
		out.piped = true
		cr.statements(to.sink, out)
	case to.append:
		if before, ok := cr.files[to.file]; ok {
			out = before.and(out)
		}
		fallthrough
	default:
		cr.files[to.file] = out
	}
	return static("")
}

// descriptor is the file descriptor that a redirection changes.
func descriptor(r *syntax.Redirect, usual string) string {
	if r.N != nil {
		return r.N.Value
	}
	return usual
}

// opened notes the input of a file descriptor.
func (cr *commandReader) opened(fd string, t text) {
	cr.open = maps.Clone(cr.open)
	if cr.open == nil {
		cr.open = map[string]text{}
	}
	cr.open[fd] = t
}

// keepsRedirections reports whether a statement is an exec without a program,
// whose redirections hold for all that follows.
func keepsRedirections(st *syntax.Stmt) bool {
	c, ok := st.Cmd.(*syntax.CallExpr)
	return ok && len(c.Args) == 1 && c.Args[0].Lit() == "exec"
}

// number is a word behind >& or <& that names a file descriptor.
var number = lazyregexp.New(`^([0-9]+-?|-)$`)

func writes(r *syntax.Redirect, w text) bool {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		return true
	case syntax.DplOut:
		return !number().MatchString(w.s)
	}
	return false
}

// input returns the input of a command behind a redirection.
func (cr *commandReader) input(r *syntax.Redirect) (text, bool) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return text{}, true
		}
		return cr.one(r.Hdoc), true
	case syntax.WordHdoc:
		return cr.one(r.Word).and(static("\n")), true
	case syntax.RdrIn:
		return cr.file(cr.one(r.Word)), true
	case syntax.DplIn, syntax.DplOut:
		if r.Op == syntax.DplOut && descriptor(r, "1") != "0" {
			return text{}, false
		}
		from, ok := cr.open[strings.TrimSuffix(r.Word.Lit(), "-")]
		return from, ok
	}
	return text{}, false
}

// standardInput are the names of standard input as a file.
var standardInput = map[string]bool{"/dev/stdin": true, "/dev/fd/0": true, "/proc/self/fd/0": true}

// network reports whether bash opens a connection for a path.
func network(file string) bool {
	return strings.HasPrefix(file, "/dev/tcp/") || strings.HasPrefix(file, "/dev/udp/")
}

// file returns the known content of a file.
func (cr *commandReader) file(name text) text {
	if name.proc != nil {
		return *name.proc
	}
	file := cr.clean(name.s)
	switch {
	case network(file):
		return text{fetched: true}
	case !name.known:
		return text{}
	case standardInput[file]:
		return cr.stdin
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if fd, ok := strings.CutPrefix(file, dir); ok {
			return cr.open[fd]
		}
	}
	return cr.files[file]
}
