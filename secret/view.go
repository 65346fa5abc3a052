package secret

import (
	"html"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A program can write a value in more ways than can be listed: with every byte or only some
// escaped, with separators, folded into lines. So texts are also looked through as they
// read without escapes, for values of encodedMin bytes and more.

// mark is an escape: bytes [at, at+n) of its value stand in [from, to) of the text. n is 0
// for an escape without a value.
type mark struct{ at, n, from, to int }

// decoded is a text without escapes.
type decoded struct {
	text  []byte
	marks []mark
	rest  int // where an escape begins that is not complete; the text's length for none
	all   int // the length of the text
}

func (d *decoded) escape(to int, from int, bytes ...byte) {
	d.marks = append(d.marks, mark{len(d.text), len(bytes), from, to})
	d.text = append(d.text, bytes...)
}

// start and end map a byte back to the text.
func (d *decoded) start(i int) int {
	m, ok := d.before(i)
	switch {
	case !ok:
		return i
	case i < m.at+m.n:
		return m.from
	}
	return m.to + i - m.at - m.n
}

func (d *decoded) end(i int) int {
	if m, ok := d.before(i); ok && i < m.at+m.n {
		return m.to
	}
	return d.start(i) + 1
}

// before returns the last mark that is not behind a byte.
func (d *decoded) before(i int) (mark, bool) {
	n, _ := slices.BinarySearchFunc(d.marks, i, func(m mark, i int) int {
		if m.at <= i {
			return -1
		}
		return 1
	})
	if n == 0 {
		return mark{}, false
	}
	return d.marks[n-1], true
}

// back maps parts of the decoded text to the text, and how much of its end is held.
func (d *decoded) back(found []span, held int) (in []span, hold int) {
	for i, f := range found {
		found[i] = span{d.start(f.from), d.end(f.to - 1)}
	}
	if hold = d.all - d.rest; held > 0 {
		hold = d.all - d.start(len(d.text)-held)
	}
	return found, hold
}

// yields reports whether an escape stands for one of some bytes, or may if more follows.
func (d *decoded) yields(some string) bool {
	return d.rest < d.all || slices.ContainsFunc(d.marks, func(m mark) bool {
		return m.n == 1 && strings.IndexByte(some, d.text[m.at]) >= 0
	})
}

// reader reads one escape at the beginning of a text, which begins with the view's sign: how
// long it is, 0 for none, -1 if it may go on behind the text; and its bytes.
type reader func(s string) (length int, bytes []byte)

// view is one kind of escapes.
type view struct {
	signs string // the bytes that escapes begin with
	read  reader
}

var (
	percents = view{"%", func(s string) (int, []byte) { return hexEscape(s, 1) }}
	prints   = view{"=", quotedPrintable}
	slashes  = view{`\`, backslash}
	entities = view{"&", entity}
	quotes   = view{`'"\`, func(string) (int, []byte) { return 1, nil }}
	folds    = view{"\r\n", func(string) (int, []byte) { return 1, nil }}
)

// escapes decodes a text; ok is false if it has no escapes.
func (v view) escapes(text string) (d decoded, ok bool) {
	if v.next(text) < 0 {
		return d, false
	}
	d = v.through(text)
	return d, len(d.marks) > 0 || d.rest < len(text)
}

// through decodes a text.
func (v view) through(text string) (d decoded) {
	d.rest, d.all = len(text), len(text)
	d.text = make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		next := v.next(text[i:])
		if next < 0 {
			d.text = append(d.text, text[i:]...)
			break
		}
		d.text = append(d.text, text[i:i+next]...)
		i += next
		n, bytes := v.read(text[i:])
		switch {
		case n < 0:
			d.rest = i
			return d
		case n == 0:
			d.text = append(d.text, text[i])
			i++
		default:
			d.escape(i+n, i, bytes...)
			i += n
		}
	}
	return d
}

func (v view) next(text string) int {
	if len(v.signs) == 1 {
		return strings.IndexByte(text, v.signs[0])
	}
	return strings.IndexAny(text, v.signs)
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// number reads up to most digits of a base; n is how many there are.
func number(s string, base, most int) (value, n int) {
	for n < len(s) && n < most {
		v := digit(s[n])
		if v < 0 || v >= base {
			break
		}
		value, n = value*base+v, n+1
	}
	return value, n
}

// hexEscape reads two digits behind a sign.
func hexEscape(s string, sign int) (int, []byte) {
	v, n := number(s[sign:], 16, 2)
	switch {
	case n == 2:
		return sign + 2, []byte{byte(v)}
	case sign+n == len(s):
		return -1, nil
	}
	return 0, nil
}

func quotedPrintable(s string) (int, []byte) {
	switch {
	case strings.HasPrefix(s, "=\n"):
		return 2, nil
	case strings.HasPrefix(s, "=\r\n"):
		return 3, nil
	case s == "=\r":
		return -1, nil
	}
	return hexEscape(s, 1)
}

// plainEscapes are the letters of C's escapes and the bytes that they mean.
var plainEscapes = strings.NewReplacer("a", "\a", "b", "\b", "e", "\x1b", "f", "\f", "n", "\n", "r", "\r", "t", "\t", "v", "\v")

// backslash reads the escapes of JSON, C and shells.
func backslash(s string) (int, []byte) {
	if len(s) < 2 {
		return -1, nil
	}
	switch c := s[1]; {
	case c == 'x':
		return hexEscape(s, 2)
	case c == 'u' || c == 'U':
		return codePoint(s)
	case c >= '0' && c <= '3':
		v, n := number(s[1:], 8, 3)
		if n < 3 && n+1 == len(s) {
			return -1, nil
		}
		return n + 1, []byte{byte(v)}
	default:
		return 2, []byte(plainEscapes.Replace(s[1:2]))
	}
}

func codePoint(s string) (int, []byte) {
	digits := 4
	if s[1] == 'U' {
		digits = 8
	}
	v, n := number(s[2:], 16, digits)
	switch {
	case n < digits && n+2 == len(s):
		return -1, nil
	case n < digits:
		return 0, nil
	}
	r, length := rune(v), 2+digits
	if utf16.IsSurrogate(r) {
		if rest := s[length:]; len(rest) < 6 && strings.HasPrefix(`\u`, rest[:min(2, len(rest))]) {
			return -1, nil
		} else if strings.HasPrefix(rest, `\u`) {
			low, n := number(rest[2:], 16, 4)
			if pair := utf16.DecodeRune(r, rune(low)); n == 4 && pair != utf8.RuneError {
				r, length = pair, length+6
			}
		}
	}
	return length, utf8.AppendRune(nil, r)
}

// entity reads a character reference of HTML, in its forms with a semicolon.
func entity(s string) (int, []byte) {
	const longest = 12
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 0 {
		if len(s) < longest && strings.Trim(s[1:], "#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
			return -1, nil
		}
		return 0, nil
	}
	if text := html.UnescapeString(s[:end+1]); text != s[:end+1] {
		return end + 1, []byte(text)
	}
	return 0, nil
}
