package texttools

import (
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

var (
	// tagPair matches a tag with the name of a call and the one of its arguments.
	tagPair = lazyregexp.New(`^<(?:tool|tool_name|name|function)>\s*([\w.-]+)\s*</(?:tool|tool_name|name|function)>\s*(?:<(arguments|parameters|args|params|input|tool_input)>)?`)
	// tagHead matches the tag of a call, whose name is an attribute or the tag's own.
	tagHead = lazyregexp.New(`^<((?:\w+:)?[\w.-]+)(?:\s+name\s*=\s*["']([\w.-]+)["'])?\s*>`)
	// tagArgument matches the beginning of an argument.
	tagArgument = lazyregexp.New(`^\s*<(?:(parameter|arg)\s+name\s*=\s*["'])?([\w.-]+)["']?>`)
)

// tags reads calls whose arguments are tags of their own, as Cline and the first Claude write
// them, or are JSON in a tag.
func (r *writtenReader) tags() bool {
	text := withoutNamespace(r.rest)
	name, end, length := "", "", 0
	if m := tagPair().FindStringSubmatch(text); m != nil {
		name, end, length = m[1], m[2], len(m[0])
	} else if m := tagHead().FindStringSubmatch(text); m != nil {
		name, end, length = m[2], m[1], len(m[0])
		if name == "" {
			name = end
		}
	}
	if name == "" {
		return false
	}
	if end != "" {
		end = "</" + end + ">"
	}
	object, rest, ok := r.signature(name).tagged(text[length:], end)
	if !ok {
		return false
	}
	r.rest = rest
	r.call(name, object)
	return true
}

// tagged reads arguments up to an end tag, if there is one.
func (s *signature) tagged(text, end string) (object, rest string, ok bool) {
	rest = strings.TrimLeft(text, spaces)
	if strings.HasPrefix(rest, "{") {
		var j jsonScan
		j.scan(rest)
		object, rest = rest[:j.at], rest[j.at:]
	} else {
		out, given := []byte{'{'}, false
		add := func(name, value string) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = s.appendValue(append(appendName(out, name), ':'), name, value)
		}
		for m := tagArgument().FindStringSubmatch(rest); m != nil; m = tagArgument().FindStringSubmatch(rest) {
			tag := m[2]
			if m[1] != "" {
				tag = m[1]
			}
			value, after, closed := tagValue(rest[len(m[0]):], "</"+tag+">")
			if !closed {
				return "", "", false
			}
			if rest = after; s.types[m[2]] != nil {
				add(m[2], value)
			}
			given = true
		}
		value, _, found := strings.Cut(rest, end)
		if found && !given && end != "" && s.only != "" && value != "" && value[0] != '<' {
			rest = rest[len(value):]
			add(s.only, value)
		}
		object = string(append(out, '}'))
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, spaces), end)
	return object, rest, ok
}

// tagValue splits a value from the text after its end, which is another tag or nothing.
func tagValue(text, end string) (value, rest string, ok bool) {
	for at := 0; ; at += len(end) {
		i := strings.Index(text[at:], end)
		if i < 0 {
			return "", "", false
		}
		at += i
		rest = strings.TrimLeft(text[at+len(end):], spaces)
		if rest == "" || strings.HasPrefix(rest, "<") || strings.HasPrefix(rest, codeFence) {
			return text[:at], rest, true
		}
	}
}
