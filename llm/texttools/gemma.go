package texttools

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Gemma writes a call as call:NAME{key:value,…}. Its texts are between marks that have no
// escapes: FunctionGemma's <escape>, and <|"|> since Gemma 4. Keys are bare, and lists and
// objects may be within. The chat templates of the models have the form.
var (
	gemmaHead  = lazyregexp.New(`^(?:<start_function_call>|<\|tool_call>)?\s*call:\s*([\w.-]+|default_api:[\w.-]+)\s*\{`)
	gemmaQuote = lazyregexp.New(`^(?:<escape>|<\|"\|>)`)
	gemmaKey   = lazyregexp.New(`^(?:<escape>(.*?)<escape>|<\|"\|>(.*?)<\|"\|>|"([^"]*)"|([\w.-]+))\s*:`)
)

// mostNested bounds lists and objects in each other.
const mostNested = 32

// gemma reads a call of Gemma's.
func (r *writtenReader) gemma() bool {
	m := gemmaHead().FindStringSubmatch(r.rest)
	if m == nil {
		return false
	}
	g := gemmaReader{rest: r.rest[len(m[0]):]}
	args := g.members(0)
	if g.failed {
		return false
	}
	r.rest = g.rest
	r.call(m[1], r.signature(m[1]).object(args))
	return true
}

// object is the JSON of arguments.
func (s *signature) object(args []gemmaArg) string {
	return object(args, func(a gemmaArg) []byte {
		if a.text && s.isText(a.name) {
			return appendName(nil, a.value)
		}
		return s.appendValue(nil, a.name, a.value)
	})
}

// gemmaArg is a member of an object. Its value is the content of a text, and JSON of anything else.
type gemmaArg struct {
	name, value string
	text        bool
}

// object is the JSON of members.
func object(all []gemmaArg, value func(gemmaArg) []byte) string {
	out := []byte{'{'}
	for i, a := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(appendName(out, a.name), ':'), value(a)...)
	}
	return string(append(out, '}'))
}

// json is the value in JSON.
func (a gemmaArg) json() []byte {
	if a.text || !gjson.Valid(a.value) {
		return appendName(nil, a.value)
	}
	return []byte(a.value)
}

// gemmaReader reads values. It stops at the first that is none.
type gemmaReader struct {
	rest   string
	failed bool
}

// next skips white space, and takes a character if it is one of these.
func (g *gemmaReader) next(of string) byte {
	g.rest = strings.TrimLeft(g.rest, spaces)
	if g.rest == "" || strings.IndexByte(of, g.rest[0]) < 0 {
		return 0
	}
	c := g.rest[0]
	g.rest = g.rest[1:]
	return c
}

// members reads an object behind its first brace.
func (g *gemmaReader) members(depth int) (all []gemmaArg) {
	for !g.failed && g.next("}") == 0 {
		m := gemmaKey().FindStringSubmatch(g.rest)
		if m == nil {
			g.failed = true
			return nil
		}
		g.rest = g.rest[len(m[0]):]
		a := g.value(depth + 1)
		a.name = m[1] + m[2] + m[3] + m[4]
		all = append(all, a)
		g.separator('}')
	}
	return all
}

// separator takes a comma, unless the end follows.
func (g *gemmaReader) separator(end byte) {
	if g.next(",") == 0 && (g.rest == "" || g.rest[0] != end) {
		g.failed = true
	}
}

// value reads a value.
func (g *gemmaReader) value(depth int) (a gemmaArg) {
	if depth > mostNested {
		g.failed = true
	}
	switch g.rest = strings.TrimLeft(g.rest, spaces); {
	case g.failed:
		return a
	case g.next("{") != 0:
		a.value = object(g.members(depth), gemmaArg.json)
		return a
	case g.next("[") != 0:
		var items []string
		for !g.failed && g.next("]") == 0 {
			items = append(items, string(g.value(depth+1).json()))
			g.separator(']')
		}
		a.value = "[" + strings.Join(items, ",") + "]"
		return a
	}
	if mark := gemmaQuote().FindString(g.rest); mark != "" {
		text, rest, ended := strings.Cut(g.rest[len(mark):], mark)
		g.rest, g.failed = rest, !ended
		return gemmaArg{value: text, text: true}
	}
	if inner, single := strings.CutPrefix(g.rest, "'"); single { // JavaScript's, in terminal({command: 'ls'})
		quoted, rest, ended := pythonText(inner, "'")
		g.rest, g.failed = rest, !ended
		return gemmaArg{value: gjson.Parse(quoted).Str, text: true}
	}
	if strings.HasPrefix(g.rest, `"`) {
		a.text = true
		d := json.NewDecoder(strings.NewReader(g.rest))
		if g.failed = d.Decode(&a.value) != nil; !g.failed {
			g.rest = g.rest[d.InputOffset():]
		}
		return a
	}
	end := strings.IndexAny(g.rest, ",]}")
	if end < 0 {
		g.failed = true
		return a
	}
	a.value, g.rest = strings.TrimSpace(g.rest[:end]), g.rest[end:]
	return a
}
