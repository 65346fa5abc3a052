package security

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// param returns the value of a variable, as far as the script itself says.
func (j *judge) param(p *syntax.ParamExp) []text {
	if p.Param == nil {
		return []text{{}}
	}
	name := p.Param.Value
	if p.Index != nil && p.Exp == nil && !modified(p) {
		if values, ok := j.elements(name, p.Index); ok {
			return values
		}
	}
	if modified(p) || p.Index != nil {
		return []text{j.expand(p)}
	}
	if name == "@" || name == "*" {
		if j.params == nil || p.Exp != nil {
			return []text{{}}
		}
		return j.params.rest
	}
	value, set := j.variable(name)
	if p.Exp == nil {
		return []text{value}
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if set {
			return []text{value}
		}
		return []text{j.one(p.Exp.Word)}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		j.one(p.Exp.Word)
		return []text{value}
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return []text{j.one(p.Exp.Word)}
	case syntax.OtherParamOps:
		if p.Exp.Word.Lit() == "P" && value.known {
			return []text{j.document(value.s)}
		}
	}
	return []text{j.expand(p)}
}

// modified reports whether an expansion is more than a variable with an
// operator.
func modified(p *syntax.ParamExp) bool {
	return p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Names != 0
}

// maxExpansion is how many bytes of a value, and of what is to be done with it,
// are followed: replacing multiplies the two.
const maxExpansion = 256

// expand returns what bash makes of an expansion that changes a value that is
// known. The substitutions within it are judged in any case.
func (j *judge) expand(p *syntax.ParamExp) text {
	j.nested(p)
	value, _ := j.variable(p.Param.Value)
	unknown := text{fetched: value.fetched}
	if !value.known || int(p.End().Offset()-p.Pos().Offset()) > maxExpansion || p.Names != 0 {
		return unknown
	}
	all := true
	get := func(name string) string {
		v, set := j.variable(name)
		all = all && v.known && set && len(v.s) <= maxExpansion && v.proc == nil
		unknown.fetched = unknown.fetched || v.fetched
		if !all {
			return ""
		}
		return v.s
	}
	s, err := expand.Literal(&expand.Config{Env: expand.FuncEnviron(get)}, &syntax.Word{Parts: []syntax.WordPart{p}})
	if j.steps += len(s) / 64; err != nil || !all || !j.step() {
		return unknown
	}
	return text{s: s, known: true, fetched: unknown.fetched, tilde: value.tilde && strings.HasPrefix(s, "~")}
}

// elements returns elements of an array that is set once, as a list.
func (j *judge) elements(name string, index syntax.ArithmExpr) ([]text, bool) {
	w, ok := index.(*syntax.Word)
	if !ok || len(j.arrays[name]) != 1 || len(j.assigned[name]) != 1 || j.reading[name] || !j.step() {
		return nil, false
	}
	j.reading[name] = true
	defer delete(j.reading, name)
	var all []text
	for _, e := range j.arrays[name][0].Elems {
		if e.Index != nil || e.Value == nil {
			return nil, false
		}
		if all = append(all, j.fields(e.Value)...); len(all) > maxWords {
			j.unsure("an array has too many elements")
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

// document judges a text as bash expands a prompt or a subscript: only its
// substitutions run.
func (j *judge) document(s string) text {
	if j.parsed += len(s); len(s) > maxScript || j.parsed > maxParsed || j.depth >= maxDepth {
		return text{}
	}
	j.depth++
	defer func() { j.depth-- }()
	w, err := syntax.NewParser().Document(strings.NewReader(s))
	if err != nil {
		return text{}
	}
	return j.one(w)
}

// separators are the characters at which unquoted values are split. All values
// of IFS in a script count, but never a slash: paths stay whole.
func (j *judge) separators() string {
	const usual = " \t\n"
	words := j.assigned["IFS"]
	if len(words) == 0 || j.reading["IFS"] {
		return usual
	}
	j.reading["IFS"] = true
	defer delete(j.reading, "IFS")
	all := usual
	for _, w := range words {
		if w != nil {
			all += strings.ReplaceAll(j.one(w).s, "/", "")
		}
	}
	return all
}

// variable returns a variable's value; set reports whether the script sets it.
// One that is set more than once is not known.
func (j *judge) variable(name string) (value text, set bool) {
	switch {
	case name == "HOME":
		return text{s: "~", known: true, tilde: true}, true
	case name == "IFS":
		return static(" \t\n"), true
	case name == "SHELL" || name == "BASH":
		return static("/bin/bash"), true
	case len(name) == 1 && name[0] >= '0' && name[0] <= '9':
		if n := int(name[0] - '1'); j.params != nil && n >= 0 && n < len(j.params.rest) {
			return j.params.rest[n], true
		}
		return text{}, false
	}
	words, set := j.assigned[name]
	if !set || j.reading[name] || !j.step() {
		return text{}, set
	}
	j.reading[name] = true
	defer delete(j.reading, name)
	if len(words) == 1 && words[0] != nil {
		value := j.one(words[0])
		j.steps += len(value.s) / 64
		return value, true
	}
	for _, w := range words {
		if w != nil && j.one(w).fetched {
			return text{fetched: true}, true
		}
	}
	return text{}, true
}
