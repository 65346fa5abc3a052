package texttools

import (
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/tidwall/gjson"
)

// longestJSON is the maximum size of a JSON object in a code fence that is held
// back, in bytes.
const longestJSON = 1 << 18

// jsonScan is the state of reading an object.
type jsonScan struct {
	start  int // of the object in the buffer
	at     int
	depth  int
	quoted bool
	escape bool
	whole  bool
	fence  string // closing mark
}

// scan continues towards the object's end.
func (j *jsonScan) scan(buf string) {
	for ; !j.whole && j.at < len(buf); j.at++ {
		c := buf[j.at]
		switch {
		case j.escape:
			j.escape = false
		case j.quoted && c == '\\':
			j.escape = true
		case c == '"':
			j.quoted = !j.quoted
		case j.quoted:
		case c == '{' || c == '[':
			j.depth++
		case c == '}' || c == ']':
			j.depth--
			j.whole = j.depth == 0
		}
	}
}

// readJSON collects a JSON object and its closing tag or fence.
func (p *reader) readJSON(final bool) bool {
	j := &p.json
	limit := len(p.buf)
	if j.fence == codeFence {
		limit = min(limit, longestJSON)
	}
	j.scan(p.buf[:limit])
	if !j.whole {
		if !final && limit == len(p.buf) {
			return false
		}
		p.next, p.ends = (*reader).readText, nil
		p.incompleteJSON(final)
		return true
	}
	p.ends = nil
	rest := strings.TrimLeft(p.buf[j.at:], spaces)
	if !final && len(rest) < len(j.fence) && strings.HasPrefix(j.fence, rest) {
		return false
	}
	p.next = (*reader).readText
	name, arguments, ok := callOf(p.buf[j.start:j.at])
	if !ok || j.fence == codeFence && p.tools[name] == nil {
		p.notACall(j.at)
		return true
	}
	p.call("", name)
	p.arguments(arguments)
	p.buf = strings.TrimPrefix(rest, j.fence)
	return true
}

// incompleteCall matches the name of a call up to its arguments.
var incompleteCall = lazyregexp.New(`^\{\s*"name"\s*:\s*"([^"\\]{1,64})"\s*,\s*"(?:arguments|parameters|args|input)"\s*:\s*`)

// incompleteJSON handles an object without an end, or one too long to wait for.
// An incomplete call keeps its arguments unchanged, which are not valid JSON.
func (p *reader) incompleteJSON(final bool) {
	j := &p.json
	object := p.buf[j.start:]
	m := incompleteCall().FindStringSubmatch(object)
	if final && m != nil && len(p.buf) <= max(longestJSON, j.at) && (j.fence != codeFence || p.tools[m[1]] != nil) {
		p.call("", m[1])
		p.arguments(object[len(m[0]):])
		p.buf = ""
		return
	}
	p.notACall(j.at)
}

// notACall delivers the text that was held back up to end, without the tag
// before it.
func (p *reader) notACall(end int) {
	from := 0
	if p.json.fence != codeFence {
		from = p.json.start
	}
	p.show(p.buf[from:end])
	p.buf = p.buf[end:]
}

// nameKeys are the members that name the tool of a call.
var nameKeys = []string{"name", "function", "tool", "tool_name", "recipient_name", "action", "tool_call"}

// callOf reads a call in the common forms: {"name": …, "arguments": {…}}, LangChain's
// {"action": …, "action_input": {…}}, and OpenAI's {"function": {…}} around it.
func callOf(object string) (name, arguments string, ok bool) {
	if !gjson.Valid(object) {
		return "", "", false
	}
	root := gjson.Parse(object)
	for _, key := range []string{"function", "function_call", "tool_call"} {
		if f := root.Get(key); f.IsObject() {
			root = f
		}
	}
	for _, key := range nameKeys {
		if v := root.Get(key); v.Type == gjson.String && v.Str != "" {
			name = v.Str
			break
		}
	}
	for _, key := range []string{"arguments", "parameters", "args", "input", "action_input", "tool_input", "params", "kwargs", "tool_args"} {
		v := root.Get(key)
		switch {
		case name == "":
		case v.IsObject():
			return name, v.Raw, true
		case v.Type == gjson.String:
			return name, v.Str, true
		}
	}
	return "", "", false
}
