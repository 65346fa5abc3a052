package texttools

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// pythonCall matches the beginning of a call as in Python, which Llama 4 and Gemma write;
// pythonArg the name of an argument.
var (
	pythonCall = lazyregexp.New(`^(?:\[\s*)?(?:print\()?((?:default_api\.)?[A-Za-z_]\w*)\(`)
	pythonArg  = lazyregexp.New(`^\s*([A-Za-z_]\w*)\s*=\s*`)
	pythonWord = lazyregexp.New(`^(?:True|False|None|-?\d+(?:\.\d+)?)`)
	pythonEnd  = lazyregexp.New(`^\s*\)?\s*(,|\])?\s*`)
)

// python reads [terminal(command="ls"), …] and print(default_api.terminal(…)). Only calls of
// offered tools are read: any code looks like this.
func (r *writtenReader) python() bool {
	m := pythonCall().FindStringSubmatch(r.rest)
	if m == nil || r.offered[plainName(m[1])] == nil {
		return false
	}
	rest, object := r.rest[len(m[0]):], []byte{'{'}
	for {
		arg := pythonArg().FindStringSubmatch(rest)
		if arg == nil {
			break
		}
		value, after, ok := pythonValue(rest[len(arg[0]):])
		if !ok {
			return false
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(appendName(object, arg[1]), ':'), value...)
		rest = strings.TrimPrefix(strings.TrimLeft(after, spaces), ",")
	}
	rest = strings.TrimLeft(rest, spaces)
	if !strings.HasPrefix(rest, ")") {
		return false
	}
	r.rest = rest[1:]
	r.rest = r.rest[len(pythonEnd().FindString(r.rest)):]
	r.call(m[1], string(append(object, '}')))
	return true
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
