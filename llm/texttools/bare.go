package texttools

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm"
)

// bareCall matches where a call without a mark may begin: JSON, a list of calls as in Python, or
// a call by a tool's name. Its groups are a code block around it, a tag and the name.
var bareCall = lazyregexp.New("(?m)^[ \t]*(?:Action:[ \t]*)?(```(?:json|python|xml|tool_call)?[ \t]*\n\\s*)?" +
	`(?:(<)?(?:>>>|(?:tool|tool_name|name)>|call:|\[?(?i:tool[ _]call|function[ _]call|calling(?: tool)?|action):[ \t]*|print\(|await[ \t]+|commentary to=)?(?:functions\.|default_api[.:])?(\w[\w.-]*)|[\[{])`)

// named matches a tool's name where arguments follow it, in whatever form.
var named = lazyregexp.New(`^\W*(?:\w+[ _:.]*){0,3}?(?:\(\s*(?:\w+\s*=|[{"'])|\[?\{|>)`)

// namedCall matches the beginning of JSON that names a tool, be it valid or not.
var namedCall = lazyregexp.New(`^(?:[\[{\s]|["'](?:id|type|role|content|function|function_call|tool_calls|tool_uses)["']\s*:\s*(?:["'][\w-]*["']\s*,|null\s*,)?)*["'](?:name|function|tool|tool_name|recipient_name|action)["']\s*:\s*["']([\w.-]+)["']`)

const brokenJSON = "its JSON is not complete or not valid"

// readBare reads calls of offered tools without a mark, which end the answer. After other text
// they may be an example, unless they are JSON outside of a block. Markup with a mark is read in a
// block that is the whole answer.
func readBare(text string, offered map[string]*signature, tools []llm.Tool) Written {
	w := Written{Text: text}
	for _, m := range bareCall().FindAllStringSubmatchIndex(text, -1) {
		before, block := strings.TrimRight(text[:m[0]], spaces), m[2] >= 0
		byName, markup := m[6] >= 0, block && m[4] >= 0
		switch {
		case byName && offered[text[m[6]:m[7]]] == nil && !(markup && before == ""):
			continue
		case block && before != "" && marker().MatchString(text[m[0]:]), inCode(text[:m[0]]):
			continue
		}
		r := writtenReader{offered: offered, tools: tools, rest: strings.TrimPrefix(strings.TrimLeft(text[m[0]:], spaces), "Action:")}
		r.read()
		switch {
		case r.problem == "" && len(r.calls) > 0 && !(byName && slices.ContainsFunc(r.calls, withoutArguments)):
			return Written{Text: before, Calls: r.calls, Doubtful: before != "" && (block || byName)}
		case byName && before == "" && named().MatchString(text[m[0]:]):
			w.Problem = r.problem
		case r.problem == brokenJSON:
			if name := namedCall().FindStringSubmatch(text[m[1]-1:]); name != nil && offered[plainName(name[1])] != nil {
				w.Problem = r.problem
			}
		}
	}
	return w
}

func withoutArguments(c event.ToolCall) bool { return c.Arguments == "{}" }

// beside are the members of a flat call that are no arguments.
var beside = append([]string{"id", "type", "thought", "thoughts", "reasoning", "explanation"}, nameKeys...)

// flat reads {"terminal": {…}} and {"tool": "terminal", "command": …}. All members have to be
// arguments of the tool: other JSON looks like this.
func (r *writtenReader) flat(one gjson.Result) (name, arguments string, ok bool) {
	members, args := one.Map(), one
	for key, v := range members {
		if len(members) == 1 && v.IsObject() {
			name, args = key, v
		}
	}
	for _, key := range nameKeys {
		if name == "" {
			name = members[key].String()
		}
	}
	s, out, ok := r.signature(name), []byte{'{'}, true
	args.ForEach(func(key, v gjson.Result) bool {
		_, known := s.types[key.Str]
		switch {
		case known:
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(appendName(out, key.Str), ':'), v.Raw...)
		case !slices.Contains(beside, key.Str):
			ok = false
		}
		return ok
	})
	return name, string(append(out, '}')), ok && len(out) > 1
}
