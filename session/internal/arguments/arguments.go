// Package arguments reads the arguments of a tool call while a model writes them.
//
// # Usage
//
//	var r arguments.Reader
//	r.Feed(chunk, func(field, text string) { … })
//
// # Concurrency
//
// One goroutine uses a Reader.
//
// # Failure
//
// Text that is no JSON object gives nothing from the mistake on: the whole call is read, and
// refused, once it is there.
package arguments

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxField bounds the name of an argument, in bytes.
const maxField = 100

// Reader reads one JSON object that comes in pieces. It passes on the arguments that are
// texts, and skips all others. The zero value is ready.
type Reader struct {
	at    place
	field []byte
	depth int  // of a value that is skipped
	quote bool // a text is skipped
	esc   escape
	high  rune // the first half of a surrogate pair
	text  strings.Builder
}

type place uint8

const (
	outside place = iota
	beforeField
	inField
	afterField
	beforeValue
	inText
	inOther
	afterValue
	broken
)

// escape is an escape sequence that has not ended.
type escape struct {
	begun  bool
	digits int // that follow; 0 for other sequences than \u
	code   rune
}

// Feed reads the next piece. It calls text with the name of an argument and the part of its
// value that has come, as the value's characters: more than once for a long one.
func (r *Reader) Feed(piece string, text func(field, part string)) {
	for i := 0; i < len(piece) && r.at != broken; i++ {
		if r.read(piece[i]) {
			r.pass(text)
		}
	}
	r.pass(text)
}

// Field returns the argument whose text is being written; "" for none.
func (r *Reader) Field() string {
	if r.at != inText {
		return ""
	}
	return string(r.field)
}

func (r *Reader) pass(text func(field, part string)) {
	if r.text.Len() == 0 {
		return
	}
	text(string(r.field), r.text.String())
	r.text.Reset()
}

// read reads one byte and reports whether a text has ended.
func (r *Reader) read(b byte) (ended bool) {
	switch r.at {
	case inText:
		return r.character(b)
	case inField:
		r.name(b)
		return false
	case inOther:
		r.skip(b)
		return false
	}
	if b == ' ' || b == '\n' || b == '\r' || b == '\t' {
		return false
	}
	r.at = r.mark(b)
	return false
}

// mark reads a byte between names and values.
func (r *Reader) mark(b byte) place {
	switch {
	case r.at == outside && b == '{':
		return beforeField
	case r.at == beforeField && b == '"':
		r.field = r.field[:0]
		return inField
	case r.at == afterField && b == ':':
		return beforeValue
	case r.at == afterValue && b == ',':
		return beforeField
	case r.at == beforeValue && b == '"':
		return inText
	case r.at == beforeValue:
		r.depth, r.quote = 0, false
		r.skip(b)
		return max(inOther, r.at)
	}
	return broken
}

// name reads a byte of a name. Names of arguments need no escapes.
func (r *Reader) name(b byte) {
	switch {
	case b == '"':
		r.at = afterField
	case b == '\\' || len(r.field) == maxField:
		r.at = broken
	default:
		r.field = append(r.field, b)
	}
}

// skip reads a byte of a value that is no text.
func (r *Reader) skip(b byte) {
	switch {
	case r.quote && r.esc.begun:
		r.esc.begun = false
	case r.quote && b == '\\':
		r.esc.begun = true
	case b == '"':
		r.quote = !r.quote
	case r.quote:
	case b == '{' || b == '[':
		r.depth++
	case b == ',' && r.depth == 0:
		r.at = beforeField
	case b == '}' || b == ']':
		if r.depth--; r.depth < 0 {
			r.at = broken // the object has ended
		}
	}
}

// character reads a byte of a text and reports whether it was the end.
func (r *Reader) character(b byte) (ended bool) {
	switch {
	case r.esc.digits > 0:
		r.digit(b)
	case r.esc.begun:
		r.esc.begun = false
		if b == 'u' {
			r.esc.digits, r.esc.code = 4, 0
			return false
		}
		r.lonely()
		r.text.WriteByte(unescaped(b))
	case b == '\\':
		r.esc.begun = true
	case b == '"':
		r.lonely()
		r.at = afterValue
		return true
	default:
		r.lonely()
		r.text.WriteByte(b)
	}
	return false
}

func unescaped(b byte) byte {
	switch b {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return b
}

// digit reads a digit of \uXXXX.
func (r *Reader) digit(b byte) {
	n := strings.IndexByte("0123456789abcdef", b|0x20)
	if b >= '0' && b <= '9' {
		n = int(b - '0')
	}
	if n < 0 {
		r.at = broken
		return
	}
	r.esc.code = r.esc.code<<4 | rune(n)
	if r.esc.digits--; r.esc.digits > 0 {
		return
	}
	code := r.esc.code
	switch {
	case r.high != 0 && code >= 0xdc00 && code < 0xe000:
		r.text.WriteRune(utf16.DecodeRune(r.high, code))
		r.high = 0
	case code >= 0xd800 && code < 0xdc00:
		r.lonely()
		r.high = code
	default:
		r.lonely()
		r.text.WriteRune(code) // half a pair becomes U+FFFD
	}
}

// lonely writes the first half of a pair that has no second one.
func (r *Reader) lonely() {
	if r.high != 0 {
		r.text.WriteRune(utf8.RuneError)
		r.high = 0
	}
}
