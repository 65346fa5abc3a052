package security

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// text is the known part of a word, or of the output of a program, without running
// anything.
type text struct {
	s       string         // the known part; gaps are left out
	known   bool           // s is all of it
	fetched bool           // some of it comes from the network
	decoded bool           // some of it was encoded, so the command does not show it
	tilde   bool           // begins with a home directory, written as ~
	glob    bool           // has *, ? or [ that a shell expands
	proc    *text          // the word is the name of a pipe from which this is read
	sink    []*syntax.Stmt // the word is the name of a pipe that these read
	piped   bool           // of standard input: it comes from a pipe or a file
}

func static(s string) text { return text{s: s, known: true} }

// maxText is how many bytes of a text are followed.
const maxText = 256 << 10

// and returns one text behind the other.
func (t text) and(u text) text {
	if t.s == "" && t.known {
		t.tilde = u.tilde
	}
	if len(t.s)+len(u.s) > maxText {
		u.s, u.known = "", false
	}
	t.s += u.s
	t.known = t.known && u.known
	t.fetched = t.fetched || u.fetched
	t.decoded = t.decoded || u.decoded
	t.glob = t.glob || u.glob
	if t.proc == nil {
		t.proc = u.proc
	}
	if t.sink == nil {
		t.sink = u.sink
	}
	return t
}

// fields returns a shell's expansion of a word: mostly one word, several where
// braces or unquoted values are expanded, none for an empty value.
func (cr *commandReader) fields(w *syntax.Word) []text {
	if w == nil {
		return nil
	}
	words := []*syntax.Word{w}
	if hasBrace(w) && syntax.SplitBraces(w) {
		words = nil
		for one, err := range expand.BracesSeq(nil, w) {
			if err != nil || len(words) == maxWords {
				cr.reportUnknown("a command has too many words")
				break
			}
			words = append(words, one)
		}
	}
	var out []text
	for _, w := range words {
		out = append(out, cr.split(w)...)
	}
	return out
}

const maxWords = 1000

// hasBrace is a cheap test, because splitting copies.
func hasBrace(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.Contains(l.Value, "{") {
			return true
		}
	}
	return false
}

// one returns a word as one text, as in an assignment, where nothing is split.
func (cr *commandReader) one(w *syntax.Word) text {
	t := static("")
	if w == nil {
		return t
	}
	for i, part := range w.Parts {
		for n, p := range cr.part(part, i == 0) {
			if n > 0 {
				t = t.and(static(" "))
			}
			t = t.and(p)
		}
	}
	return t
}

// split expands a word without braces and splits unquoted values.
func (cr *commandReader) split(w *syntax.Word) []text {
	var out []text
	cur, started := static(""), false
	for i, part := range w.Parts {
		if len(out) > maxWords {
			cr.reportUnknown("a command has too many words")
			break
		}
		values := cr.part(part, i == 0)
		if !splits(part) {
			for n, v := range values { // more than one only for "$@"
				if n > 0 {
					out = append(out, cur)
					cur = static("")
				}
				cur, started = cur.and(v), true
			}
			continue
		}
		for n, v := range values {
			separators := cr.separators()
			words := strings.FieldsFunc(v.s, func(r rune) bool { return strings.ContainsRune(separators, r) })
			lead := n > 0 || v.s != "" && strings.ContainsAny(v.s[:1], separators)
			if lead && started {
				out = append(out, cur)
				cur, started = static(""), false
			}
			for k, word := range words {
				if k > 0 {
					out = append(out, cur)
					cur = static("")
				}
				piece := v
				piece.s = word
				cur, started = cur.and(piece), true
			}
			if len(words) == 0 && (!v.known || v.proc != nil || v.sink != nil) {
				cur, started = cur.and(v), true
			}
			if trail := v.s != "" && strings.ContainsAny(v.s[len(v.s)-1:], separators); trail && started {
				out = append(out, cur)
				cur, started = static(""), false
			}
		}
	}
	if started {
		out = append(out, cur)
	}
	return out
}

// splits reports whether the value of an unquoted part is split into words.
func splits(p syntax.WordPart) bool {
	switch p.(type) {
	case *syntax.ParamExp, *syntax.CmdSubst:
		return true
	}
	return false
}

// part returns the values of a part of a word; several only for $@.
func (cr *commandReader) part(p syntax.WordPart, first bool) []text {
	switch p := p.(type) {
	case *syntax.Lit:
		return []text{literal(p.Value, first)}
	case *syntax.SglQuoted:
		if !p.Dollar {
			return []text{static(p.Value)}
		}
		s, _, err := expand.Format(&expand.Config{}, p.Value, nil)
		return []text{{s: s, known: err == nil}}
	case *syntax.DblQuoted:
		return cr.quoted(p.Parts)
	case *syntax.ParamExp:
		return cr.param(p)
	case *syntax.CmdSubst:
		t := cr.substitute(p.Stmts)
		t.s = strings.TrimRight(t.s, "\n")
		return []text{t}
	case *syntax.ProcSubst:
		if p.Op == syntax.CmdOut {
			cr.statements(p.Stmts, text{}) // as it is; whatever writes to it analyzes it again
			return []text{{sink: p.Stmts}}
		}
		t := cr.substitute(p.Stmts)
		return []text{{proc: &t}}
	case *syntax.ExtGlob:
		return []text{{glob: true}}
	default:
		cr.nested(p)
		return []text{{}}
	}
}

func (cr *commandReader) quoted(parts []syntax.WordPart) []text {
	out := []text{static("")}
	for _, p := range parts {
		if l, ok := p.(*syntax.Lit); ok {
			out[len(out)-1] = out[len(out)-1].and(static(unescapeQuoted(l.Value)))
			continue
		}
		if len(out) > maxWords {
			cr.reportUnknown("a command has too many words")
			break
		}
		for n, v := range cr.part(p, false) {
			v.glob = false
			if n > 0 {
				out = append(out, static(""))
			}
			out[len(out)-1] = out[len(out)-1].and(v)
		}
	}
	return out
}

// literal reads an unquoted text.
func literal(s string, first bool) text {
	t := text{known: true, tilde: first && strings.HasPrefix(s, "~")}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		case '*', '?', '[':
			t.glob = true
		}
		b.WriteByte(s[i])
	}
	t.s = b.String()
	return t
}

// unescapeQuoted reads a text in double quotes.
func unescapeQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
