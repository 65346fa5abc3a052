package texttools

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deft-dev/deft/llm/internal/historycache"
)

// growing turns the body of a call into arguments while it arrives. It says
// only what no text that follows can change: signature.arguments, which sees
// the whole body, has the last word, and what growing said is always how that
// begins. Where a call is not written as told, growing stops and leaves the
// rest to it.
type growing struct {
	sig   *signature
	tail  string // not decided yet
	step  func(g *growing) bool
	said  []byte // what was not handed out yet
	close []byte // the end of the latest value, which more has to follow
	given map[string]bool

	name     string
	begun    bool // the value's beginning was looked at
	verbatim bool // it holds something that no escaped text would
}

func newGrowing(sig *signature) *growing {
	return &growing{sig: sig, step: (*growing).readHead, given: map[string]bool{}}
}

// feed takes a piece of the body and returns a piece of the arguments.
func (g *growing) feed(s string) string {
	if g.step == nil {
		return ""
	}
	g.tail += s
	for g.step != nil && g.step(g) {
	}
	if len(g.tail) > longestUndecided {
		g.stop()
	}
	out := string(g.said)
	g.said = g.said[:0]
	return out
}

func (g *growing) stop() bool {
	g.step, g.tail = nil, ""
	return false
}

// longestUndecided bounds what is looked at again with each piece, in bytes.
const longestUndecided = 16 << 10

const paramBegin = "<parameter"

// white is what regular expressions take as white space.
const white = "\t\n\f\r "

// readHead reads the head of a parameter.
func (g *growing) readHead() bool {
	g.tail = strings.TrimLeft(g.tail, white)
	if !strings.HasPrefix(g.tail, paramBegin) {
		if strings.HasPrefix(paramBegin, g.tail) {
			return false
		}
		return g.stop()
	}
	end := strings.IndexAny(g.tail[1:], "<>\n") + 1
	if end == 0 {
		if len(g.tail) > 2*longestHead {
			return g.stop()
		}
		return false
	}
	m := paramHead.FindStringSubmatchIndex(g.tail)
	if m == nil || m[0] != 0 {
		return g.stop()
	}
	g.name = strings.Trim(g.tail[m[2]:m[3]], " \t\r\"'")
	if g.given[g.name] {
		return g.stop()
	}
	if len(g.given) == 0 {
		g.said = append(g.said, '{')
	} else {
		g.said = append(append(g.said, g.close...), ',')
	}
	g.given[g.name] = true
	g.said = append(historycache.AppendString(g.said, g.name), ':')
	g.tail, g.begun, g.verbatim = g.tail[m[1]:], false, false
	g.step = (*growing).readTyped
	if g.sig.isText(g.name) {
		g.said = append(g.said, '"')
		g.step = (*growing).readText
	}
	return true
}

// readTyped reads a value that is not a text. It is short, so it is handed out
// whole.
func (g *growing) readTyped() bool {
	i := strings.IndexByte(g.tail, '<')
	if i < 0 {
		return false
	}
	ended, open := g.endsAt(i)
	if !ended {
		if !open {
			g.stop()
		}
		return false
	}
	g.close = g.sig.appendValue(nil, g.name, g.tail[:i])
	g.tail, g.step = g.tail[i+len(paramEnd):], (*growing).readHead
	return true
}

// endsAt reports whether a value ends at i, and if not, whether it still may.
func (g *growing) endsAt(i int) (ended, open bool) {
	rest, ok := strings.CutPrefix(g.tail[i:], paramEnd)
	if !ok {
		return false, false
	}
	rest = strings.TrimLeft(rest, white)
	return strings.HasPrefix(rest, paramBegin+"=") || strings.HasPrefix(rest, paramBegin+" "), strings.HasPrefix(paramBegin, rest)
}

// readText reads a text.
func (g *growing) readText() bool {
	if !g.begun && !g.beginText() {
		return false
	}
	sure, at, ended := g.scan()
	if ended {
		value := strings.TrimSuffix(g.tail[:at], "\n")
		if !g.verbatim {
			value = unescaped(value)
		}
		g.close = historycache.AppendString(nil, value)[1:]
		g.tail, g.step = g.tail[at+len(paramEnd):], (*growing).readHead
		return true
	}
	g.say(sure)
	if g.step == nil {
		return g.stop()
	}
	return false
}

const cdata = "<![CDATA["

// beginText passes over what does not count at the beginning of a text.
func (g *growing) beginText() bool {
	text := strings.TrimPrefix(g.tail, "\n")
	switch {
	case strings.HasPrefix(cdata, text): // also if there is none
		return false
	case strings.HasPrefix(text, cdata):
		return g.stop()
	}
	g.tail, g.begun = text, true
	return true
}

// stops are what may end a value. Behind any of them but its proper end, the
// whole body decides.
var stops = []string{paramEnd, paramBegin, "</function", "</invoke", "<function", "<invoke"}

var entityNames = []string{"&lt;", "&gt;", "&quot;", "&apos;", "&#39;", "&amp;"}

// scan looks at the undecided part of a text. The first sure bytes belong to
// it as they are; ended says that the text ends at at. It sets step to nil
// where growing has to stop.
func (g *growing) scan() (sure, at int, ended bool) {
	escaped := -1 // where the first entity stands, while they may count
	for i := 0; i < len(g.tail); i++ {
		rest := g.tail[i:]
		switch rest[0] {
		case '>':
			g.verbatim, escaped = true, -1
		case '<':
			stop, open := begins(rest, stops)
			if stop != "" {
				ended, open = g.endsAt(i)
				if ended {
					return 0, i, true
				}
				if !open {
					g.step = nil
				}
				return bounded(i, escaped), 0, false
			}
			if open {
				return bounded(i, escaped), 0, false
			}
			g.verbatim, escaped = true, -1
		case '&':
			if g.verbatim {
				continue
			}
			entity, open := begins(rest, entityNames)
			switch {
			case entity != "":
				if escaped < 0 {
					escaped = i
				}
				i += len(entity) - 1
			case open:
				return bounded(i, escaped), 0, false
			default:
				g.verbatim, escaped = true, -1
			}
		}
	}
	return bounded(len(g.tail), escaped), 0, false
}

// begins returns which of the words text begins with, or that more text may
// make it one.
func begins(text string, words []string) (word string, open bool) {
	for _, w := range words {
		if strings.HasPrefix(text, w) {
			return w, false
		}
		open = open || strings.HasPrefix(w, text)
	}
	return "", open
}

// bounded returns the lesser of two places, of which the second may be -1.
func bounded(i, at int) int {
	if at >= 0 {
		return min(i, at)
	}
	return i
}

// say hands out the first n bytes of what is undecided, but not white space at
// their end, which may be the value's own end, nor half a character.
func (g *growing) say(n int) {
	text := g.tail[:n]
	for k := 1; k < utf8.UTFMax && k <= len(text); k++ {
		if last := text[len(text)-k:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(last) {
				text = text[:len(text)-k]
			}
			break
		}
	}
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if text == "" {
		return
	}
	quoted := historycache.AppendString(nil, text)
	g.said = append(g.said, quoted[1:len(quoted)-1]...)
	g.tail = g.tail[len(text):]
}
