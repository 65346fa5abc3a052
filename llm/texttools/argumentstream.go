package texttools

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deft-dev/deft/llm/internal/historycache"
)

// argumentStream converts the body of a call to arguments while it arrives. It
// returns only text that no later input can change: signature.arguments, which
// sees the whole body, decides, and the stream's output is always a prefix of
// its result. If a call is not in the documented form, the stream stops and
// leaves the rest to signature.arguments.
type argumentStream struct {
	sig   *signature
	tail  string // not decided yet
	step  func(g *argumentStream) bool
	ready []byte // text that was not handed out yet
	close []byte // the end of the latest value, which more has to follow
	given map[string]bool

	name     string
	begun    bool // the value's beginning was looked at
	verbatim bool // it contains something that escaped text does not
}

func newArgumentStream(sig *signature) *argumentStream {
	return &argumentStream{sig: sig, step: (*argumentStream).readHead, given: map[string]bool{}}
}

// feed takes a piece of the body and returns a piece of the arguments.
func (g *argumentStream) feed(s string) string {
	if g.step == nil {
		return ""
	}
	g.tail += s
	for g.step != nil && g.step(g) {
	}
	if len(g.tail) > longestUndecided {
		g.stop()
	}
	out := string(g.ready)
	g.ready = g.ready[:0]
	return out
}

func (g *argumentStream) stop() bool {
	g.step, g.tail = nil, ""
	return false
}

// longestUndecided limits the text that is scanned again with each piece, in
// bytes.
const longestUndecided = 16 << 10

const paramBegin = "<parameter"

// white is the white space of regular expressions.
const white = "\t\n\f\r "

// readHead reads the head of a parameter.
func (g *argumentStream) readHead() bool {
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
	m := paramHead().FindStringSubmatchIndex(g.tail)
	if m == nil || m[0] != 0 {
		return g.stop()
	}
	g.name = strings.Trim(g.tail[m[2]:m[3]], " \t\r\"'")
	if g.given[g.name] {
		return g.stop()
	}
	if len(g.given) == 0 {
		g.ready = append(g.ready, '{')
	} else {
		g.ready = append(append(g.ready, g.close...), ',')
	}
	g.given[g.name] = true
	g.ready = append(historycache.AppendString(g.ready, g.name), ':')
	g.tail, g.begun, g.verbatim = g.tail[m[1]:], false, false
	g.step = (*argumentStream).readTyped
	if g.sig.isText(g.name) {
		g.ready = append(g.ready, '"')
		g.step = (*argumentStream).readText
	}
	return true
}

// readTyped reads a value that is not a string. It is short, so it is delivered
// whole.
func (g *argumentStream) readTyped() bool {
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
	g.tail, g.step = g.tail[i+len(paramEnd):], (*argumentStream).readHead
	return true
}

// endsAt reports whether a value ends at i, and if not, whether it still may.
func (g *argumentStream) endsAt(i int) (ended, open bool) {
	rest, ok := strings.CutPrefix(g.tail[i:], paramEnd)
	if !ok {
		return false, false
	}
	rest = strings.TrimLeft(rest, white)
	return strings.HasPrefix(rest, paramBegin+"=") || strings.HasPrefix(rest, paramBegin+" "), strings.HasPrefix(paramBegin, rest)
}

// readText reads a text.
func (g *argumentStream) readText() bool {
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
		g.tail, g.step = g.tail[at+len(paramEnd):], (*argumentStream).readHead
		return true
	}
	g.emit(sure)
	if g.step == nil {
		return g.stop()
	}
	return false
}

const cdata = "<![CDATA["

// beginText skips a line break at the beginning of a string.
func (g *argumentStream) beginText() bool {
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

// stops are the tags that may end a value. After any of them but its proper end
// tag, the whole body decides.
var stops = []string{paramEnd, paramBegin, "</function", "</invoke", "<function", "<invoke"}

var entityNames = []string{"&lt;", "&gt;", "&quot;", "&apos;", "&#39;", "&amp;"}

// scan examines the undecided part of a string. The first sure bytes belong to
// it unchanged; ended reports that it ends at at. If the stream has to stop, it
// sets step to nil.
func (g *argumentStream) scan() (sure, at int, ended bool) {
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

// begins returns which of the words text begins with, or whether more text may
// complete one.
func begins(text string, words []string) (word string, open bool) {
	for _, w := range words {
		if strings.HasPrefix(text, w) {
			return w, false
		}
		open = open || strings.HasPrefix(w, text)
	}
	return "", open
}

// bounded returns the smaller of two positions; the second may be -1.
func bounded(i, at int) int {
	if at >= 0 {
		return min(i, at)
	}
	return i
}

// emit delivers the first n undecided bytes, except white space at their end,
// which may be the value's end, and incomplete characters.
func (g *argumentStream) emit(n int) {
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
	g.ready = append(g.ready, quoted[1:len(quoted)-1]...)
	g.tail = g.tail[len(text):]
}
