package texttools

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// pythonCall matches the beginning of a call as in Python, which Llama 4, Gemma and Olmo write;
// pythonArg the name of an argument.
var (
	pythonCall = lazyregexp.New(`^(?:\[\s*)?(?:print\(|await\s+)?((?:default_api\.|functions\.)?[A-Za-z_][\w-]*)(?:\.call)?\(`)
	pythonArg  = lazyregexp.New(`^\s*([A-Za-z_]\w*)\s*=\s*`)
	pythonWord = lazyregexp.New(`^(?:True|False|None|-?\d+(?:\.\d+)?)`)
	pythonEnd  = lazyregexp.New(`^\s*\)?\s*(,|\])?\s*`)
)

// python reads [terminal(command="ls"), …] and print(default_api.terminal(…)), and the object or
// the text of terminal({command: "ls"}) and terminal("ls"). Only calls of offered tools are read:
// any code looks like this.
func (r *writtenReader) python() bool {
	m := pythonCall().FindStringSubmatch(r.rest)
	if m == nil || r.offered[plainName(m[1])] == nil {
		return false
	}
	object, rest, ok := r.pythonArguments(r.offered[plainName(m[1])], r.rest[len(m[0]):])
	rest = strings.TrimLeft(rest, spaces)
	if !ok || !strings.HasPrefix(rest, ")") {
		return false
	}
	r.rest = rest[1:]
	r.rest = r.rest[len(pythonEnd().FindString(r.rest)):]
	r.call(m[1], object)
	return true
}

// pythonArguments reads what stands between the brackets of a call.
func (r *writtenReader) pythonArguments(s *signature, rest string) (object, after string, ok bool) {
	trimmed := strings.TrimLeft(rest, spaces)
	if members, braced := strings.CutPrefix(trimmed, "{"); braced {
		g := gemmaReader{rest: members}
		args := g.members(0)
		return s.object(args), g.rest, !g.failed
	}
	if s.only != "" && trimmed != "" && strings.ContainsAny(trimmed[:1], `"'`) {
		value, end, whole := pythonValue(trimmed)
		return "{" + string(appendName(nil, s.only)) + ":" + value + "}", end, whole
	}
	out := []byte{'{'}
	for {
		arg := pythonArg().FindStringSubmatch(rest)
		if arg == nil {
			return string(append(out, '}')), rest, true
		}
		value, end, whole := pythonValue(rest[len(arg[0]):])
		if !whole {
			return "", "", false
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendName(out, arg[1]), ':'), value...)
		rest = strings.TrimPrefix(strings.TrimLeft(end, spaces), ",")
	}
}

// pythonValue reads a literal as JSON: a text, a word, a number, or a list or an object
// that is JSON.
func pythonValue(text string) (value, rest string, ok bool) {
	if word := pythonWord().FindString(text); word != "" {
		rest = text[len(word):]
		switch word {
		case "None":
			word = "null"
		case "True", "False":
			word = strings.ToLower(word)
		}
		return word, rest, true
	}
	if text == "" {
		return "", "", false
	}
	if text[0] == '[' || text[0] == '{' {
		var j jsonScan
		j.scan(text)
		return text[:j.at], text[j.at:], gjson.Valid(text[:j.at])
	}
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		if inner, found := strings.CutPrefix(text, quote); found {
			return pythonText(inner, quote)
		}
	}
	return "", "", false
}

var pythonEscapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '"': `"`, '\'': "'", '\n': ""}

// pythonText reads a text up to its closing quote.
func pythonText(text, quote string) (value, rest string, ok bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], quote):
			return string(historycache.AppendString(nil, out.String())), text[i+len(quote):], true
		case text[i] == '\\' && i+1 < len(text):
			i++
			if s, known := pythonEscapes[text[i]]; known {
				out.WriteString(s)
			} else { // kept, as Python does
				out.WriteString(text[i-1 : i+1])
			}
		default:
			out.WriteByte(text[i])
		}
	}
	return "", "", false
}

// appendName appends the name of a member.
func appendName(dst []byte, name string) []byte { return historycache.AppendString(dst, name) }
