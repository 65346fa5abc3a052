// Package browsergym reads the actions that agents of OpenHands' first generation write for a browser: calls in
// Python's syntax, such as click('12'). They are parsed and never run as Python.
//
// # Usage
//
//	calls, err := browsergym.Parse(`fill('12', "tea")` + "\n" + `press('12', 'Enter')`)
//
// # Concurrency and failure
//
// It is safe for concurrent use. Text that is no list of calls with plain values is an error of kind
// fault.Invalid that names the place.
package browsergym

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/fault"
)

// Call is one call. Values are string, float64, bool, nil, and []any of them.
type Call struct {
	Name  string
	Args  []any
	Named map[string]any
}

// MaxCalls and MaxText bound the calls of one text, and the text.
const (
	MaxCalls = 100
	MaxText  = 1 << 20
	maxDepth = 10 // of lists
)

// Parse reads the calls of a text. Comments and a code fence around the calls are left out.
func Parse(text string) ([]Call, error) {
	if len(text) > MaxText {
		return nil, fault.New(fault.Invalid, "the actions have more than a million characters")
	}
	p := &parser{text: text}
	var calls []Call
	for {
		p.skip(true)
		if strings.HasPrefix(p.rest(), "```") { // with the name of a language
			p.at += strings.IndexByte(p.rest()+"\n", '\n')
			p.at = min(p.at, len(p.text))
			continue
		}
		if p.rest() == "" {
			return calls, nil
		}
		c, err := p.call()
		if err != nil {
			return nil, err
		}
		if calls = append(calls, c); len(calls) > MaxCalls {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("there are more than %d calls", MaxCalls))
		}
	}
}

type parser struct {
	text string
	at   int
}

func (p *parser) rest() string { return p.text[p.at:] }

// fail says what is wrong, and in which line.
func (p *parser) fail(format string, args ...any) error {
	line := 1 + strings.Count(p.text[:p.at], "\n")
	return fault.New(fault.Invalid, fmt.Sprintf("line %d of the actions: %s", line, fmt.Sprintf(format, args...)))
}

// skip skips white space and comments, and semicolons between calls.
func (p *parser) skip(between bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';' && between:
			p.at++
		case c == '#':
			end := strings.IndexByte(p.rest(), '\n')
			if end < 0 {
				end = len(p.rest())
			}
			p.at += end
		default:
			return
		}
	}
}

// take takes a text if it is next.
func (p *parser) take(s string) bool {
	p.skip(false)
	if !strings.HasPrefix(p.rest(), s) {
		return false
	}
	p.at += len(s)
	return true
}

// name reads a name, "" for none.
func (p *parser) name() string {
	p.skip(false)
	end := p.at
	for end < len(p.text) {
		c := p.text[end]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (end == p.at || c < '0' || c > '9') {
			break
		}
		end++
	}
	name := p.text[p.at:end]
	p.at = end
	return name
}

func (p *parser) call() (Call, error) {
	c := Call{Name: p.name()}
	if c.Name == "" || !p.take("(") {
		return c, p.fail("only calls such as click('12') are allowed here")
	}
	for !p.take(")") {
		if len(c.Args)+len(c.Named) > 0 && !p.take(",") {
			return c, p.fail("%s(…) needs a comma between its arguments, or a closing bracket", c.Name)
		}
		if p.take(")") { // after a comma
			return c, nil
		}
		before := p.at
		if name := p.name(); name != "" && p.take("=") {
			v, err := p.value(0)
			if err != nil {
				return c, err
			}
			if c.Named == nil {
				c.Named = map[string]any{}
			}
			c.Named[name] = v
			continue
		}
		p.at = before
		v, err := p.value(0)
		if err != nil {
			return c, err
		}
		c.Args = append(c.Args, v)
	}
	return c, nil
}

func (p *parser) value(depth int) (any, error) {
	p.skip(false)
	switch rest := p.rest(); {
	case rest == "":
		return nil, p.fail("the call does not end")
	case rest[0] == '"' || rest[0] == '\'':
		return p.str()
	case rest[0] == '[' || rest[0] == '(':
		return p.list(depth)
	case rest[0] == '-' || rest[0] == '+' || rest[0] == '.' || rest[0] >= '0' && rest[0] <= '9':
		end := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("+-.0123456789eE_", r) })
		if end < 0 {
			end = len(rest)
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(rest[:end], "_", ""), 64)
		if err != nil {
			return nil, p.fail("%q is no number", rest[:end])
		}
		p.at += end
		return n, nil
	}
	switch name := p.name(); name {
	case "True":
		return true, nil
	case "False":
		return false, nil
	case "None":
		return nil, nil //nolint:nilnil // Python's None
	default:
		return nil, p.fail("values are texts, numbers, lists, True, False and None")
	}
}

func (p *parser) list(depth int) (any, error) {
	end := map[byte]string{'[': "]", '(': ")"}[p.text[p.at]]
	p.at++
	list := []any{}
	for !p.take(end) {
		if len(list) > 0 && !p.take(",") {
			return nil, p.fail("a list needs commas between its values, and %s at its end", end)
		}
		if p.take(end) {
			return list, nil
		}
		if depth >= maxDepth {
			return nil, p.fail("lists are nested too deeply")
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// str reads a text in any quotes of Python's, with its escapes.
func (p *parser) str() (any, error) {
	quote := p.text[p.at : p.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(p.rest(), triple) {
		quote = triple
	}
	p.at += len(quote)
	var b strings.Builder
	for p.at < len(p.text) {
		switch {
		case strings.HasPrefix(p.rest(), quote):
			p.at += len(quote)
			return b.String(), nil
		case p.text[p.at] == '\\':
			if err := p.escape(&b); err != nil {
				return nil, err
			}
		case p.text[p.at] == '\n' && len(quote) == 1:
			return nil, p.fail("a text ends before its quote; write \\n for a line break")
		default:
			b.WriteByte(p.text[p.at])
			p.at++
		}
	}
	return nil, p.fail("a text has no closing quote")
}

var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '\'': "'", '"': `"`, '\n': "", '0': "\x00", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v"}

func (p *parser) escape(b *strings.Builder) error {
	p.at++
	if p.at >= len(p.text) {
		return p.fail("a text has no closing quote")
	}
	c := p.text[p.at]
	if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; digits > 0 {
		if len(p.rest()) <= digits {
			return p.fail("an escape is not complete")
		}
		n, err := strconv.ParseUint(p.text[p.at+1:p.at+1+digits], 16, 32)
		if err != nil || !utf8.ValidRune(rune(n)) {
			return p.fail("\\%s is no character", p.text[p.at:p.at+1+digits])
		}
		b.WriteRune(rune(n))
		p.at += 1 + digits
		return nil
	}
	s, ok := escapes[c]
	if !ok {
		s = `\` + string(c)
	}
	b.WriteString(s)
	p.at++
	return nil
}
