package security

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// param returns the value of a variable, as far as the script itself says.
func (cr *commandReader) param(p *syntax.ParamExp) []text {
	if p.Param == nil {
		return []text{{}}
	}
	name := p.Param.Value
	if p.Index != nil && p.Exp == nil && !modified(p) {
		if values, ok := cr.elements(name, p.Index); ok {
			return values
		}
	}
	if modified(p) || p.Index != nil {
		return []text{cr.expand(p)}
	}
	if name == "@" || name == "*" {
		if cr.params == nil || p.Exp != nil {
			return []text{{}}
		}
		return cr.params.rest
	}
	value, set := cr.variable(name)
	if p.Exp == nil {
		return []text{value}
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if set {
			return []text{value}
		}
		return []text{cr.one(p.Exp.Word)}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		cr.one(p.Exp.Word)
		return []text{value}
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return []text{cr.one(p.Exp.Word)}
	case syntax.OtherParamOps:
		if p.Exp.Word.Lit() == "P" && value.known {
			return []text{cr.document(value.s)}
		}
	}
	return []text{cr.expand(p)}
}

// modified reports whether an expansion is more than a variable with an
// operator.
func modified(p *syntax.ParamExp) bool {
	return p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Names != 0
}

// maxExpansion is how many bytes of a value, and of its replacement, are followed:
// replacing multiplies the two.
const maxExpansion = 256

// expand returns bash's result of an expansion that changes a known value. The
// substitutions within it are analyzed in any case.
func (cr *commandReader) expand(p *syntax.ParamExp) text {
	cr.nested(p)
	value, _ := cr.variable(p.Param.Value)
	unknown := text{fetched: value.fetched}
	if !value.known || int(p.End().Offset()-p.Pos().Offset()) > maxExpansion || p.Names != 0 {
		return unknown
	}
	all := true
	get := func(name string) string {
		v, set := cr.variable(name)
		all = all && v.known && set && len(v.s) <= maxExpansion && v.proc == nil
		unknown.fetched = unknown.fetched || v.fetched
		if !all {
			return ""
		}
		return v.s
	}
	s, err := expand.Literal(&expand.Config{Env: expand.FuncEnviron(get)}, &syntax.Word{Parts: []syntax.WordPart{p}})
	if cr.steps += len(s) / 64; err != nil || !all || !cr.step() {
		return unknown
	}
	return text{s: s, known: true, fetched: unknown.fetched, tilde: value.tilde && strings.HasPrefix(s, "~")}
}

// elements returns elements of an array that is set once, as a list.
func (cr *commandReader) elements(name string, index syntax.ArithmExpr) ([]text, bool) {
	w, ok := index.(*syntax.Word)
	if !ok || len(cr.arrays[name]) != 1 || len(cr.assigned[name]) != 1 || cr.reading[name] || !cr.step() {
		return nil, false
	}
	cr.reading[name] = true
	defer delete(cr.reading, name)
	var all []text
	for _, e := range cr.arrays[name][0].Elems {
		if e.Index != nil || e.Value == nil {
			return nil, false
		}
		if all = append(all, cr.fields(e.Value)...); len(all) > maxWords {
			cr.reportUnknown("an array has too many elements")
			return nil, false
		}
	}
	if at := w.Lit(); at != "@" && at != "*" {
		n, err := strconv.Atoi(at)
		if err != nil || n < 0 || n >= len(all) {
			return nil, false
		}
		return all[n : n+1], true
	}
	return all, true
}

// document analyzes a text as bash expands a prompt or a subscript: only its
// substitutions run.
func (cr *commandReader) document(s string) text {
	if cr.parsed += len(s); len(s) > maxScript || cr.parsed > maxParsed || cr.depth >= maxDepth {
		return text{}
	}
	cr.depth++
	defer func() { cr.depth-- }()
	w, err := syntax.NewParser().Document(strings.NewReader(s))
	if err != nil {
		return text{}
	}
	return cr.one(w)
}

// separators are the characters at which unquoted values are split. All values
// of IFS in a script count, but never a slash: paths stay whole.
func (cr *commandReader) separators() string {
	const usual = " \t\n"
	words := cr.assigned["IFS"]
	if len(words) == 0 || cr.reading["IFS"] {
		return usual
	}
	cr.reading["IFS"] = true
	defer delete(cr.reading, "IFS")
	var all strings.Builder
	all.WriteString(usual)
	for _, w := range words {
		if w != nil {
			all.WriteString(strings.ReplaceAll(cr.one(w).s, "/", ""))
		}
	}
	return all.String()
}

// variable returns a variable's value; set reports whether the script sets it.
// One that is set more than once is not known.
func (cr *commandReader) variable(name string) (value text, set bool) {
	switch {
	case name == "HOME":
		return text{s: "~", known: true, tilde: true}, true
	case name == "IFS":
		return static(" \t\n"), true
	case name == "SHELL" || name == "BASH":
		return static("/bin/bash"), true
	case len(name) == 1 && name[0] >= '0' && name[0] <= '9':
		if n := int(name[0] - '1'); cr.params != nil && n >= 0 && n < len(cr.params.rest) {
			return cr.params.rest[n], true
		}
		return text{}, false
	}
	words, set := cr.assigned[name]
	if !set || cr.reading[name] || !cr.step() {
		return text{}, set
	}
	cr.reading[name] = true
	defer delete(cr.reading, name)
	if len(words) == 1 && words[0] != nil {
		value := cr.one(words[0])
		cr.steps += len(value.s) / 64
		return value, true
	}
	for _, w := range words {
		if w != nil && cr.one(w).fetched {
			return text{fetched: true}, true
		}
	}
	return text{}, true
}
