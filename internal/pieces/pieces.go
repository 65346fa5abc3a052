// Package pieces joins texts that arrive in pieces of JSON, which end anywhere, also inside a
// character.
//
// # Usage
//
//	var text pieces.Text
//	var p pieces.Piece // decoded with encoding/json
//	complete := text.Add(string(p))
//
// # Concurrency and failure
//
// A Text is of one goroutine. Malformed Unicode becomes U+FFFD; nothing fails.
package pieces

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Piece is a piece of a streamed text. Servers end pieces anywhere, also inside a
// character: half a surrogate pair is kept in three bytes (WTF-8), and bytes that are no
// UTF-8 stay. [Text] joins pieces.
type Piece string

// UnmarshalJSON implements json.Unmarshaler.
func (p *Piece) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' {
		return json.Unmarshal(b, (*string)(p)) // null, or the usual error
	}
	*p = Piece(unquote(b[1 : len(b)-1]))
	return nil
}

// escapes are the characters that stand for others after a backslash.
var escapes = [256]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '/': '/'}

// unquote decodes the inside of a valid JSON string.
func unquote(b []byte) string {
	var out []byte
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			if out != nil {
				out = append(out, b[i])
			}
			continue
		}
		if out == nil {
			out = append(make([]byte, 0, len(b)), b[:i]...)
		}
		i++
		if b[i] != 'u' || i+4 >= len(b) {
			out = append(out, escapes[b[i]])
			continue
		}
		unit, err := strconv.ParseUint(string(b[i+1:i+5]), 16, 16)
		if err != nil {
			unit = utf8.RuneError // not reached: the document was checked
		}
		out = appendUnit(out, rune(unit))
		i += 4
	}
	if out == nil {
		return string(b)
	}
	return string(joinPairs(out))
}

// appendUnit appends a UTF-16 unit, a surrogate as WTF-8.
func appendUnit(dst []byte, unit rune) []byte {
	if !utf16.IsSurrogate(unit) {
		return utf8.AppendRune(dst, unit)
	}
	return append(dst, 0xe0|byte(unit>>12), 0x80|byte(unit>>6)&0x3f, 0x80|byte(unit)&0x3f)
}

// surrogate returns the surrogate at the beginning of WTF-8, or 0.
func surrogate[T ~string | ~[]byte](s T) rune {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 {
		return 0
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
}

// joinPairs makes characters of pairs of halves, in place.
func joinPairs(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); {
		if high := surrogate(b[i:]); high != 0 {
			if r := utf16.DecodeRune(high, surrogate(b[i+3:])); r != utf8.RuneError {
				out = utf8.AppendRune(out, r)
				i += 6
				continue
			}
		}
		out = append(out, b[i])
		i++
	}
	return out
}

// Text is a text of an answer, assembled from pieces. It is well-formed: a character that
// began in one piece and ended in the next is whole, and what never becomes a character is
// U+FFFD. The zero value is empty.
type Text struct {
	whole strings.Builder
	held  string // the beginning of a character
}

// Add adds a piece and returns the text that is complete: all but the beginning of a
// character at its end.
func (t *Text) Add(piece string) string {
	if t.held == "" && utf8.ValidString(piece) {
		t.whole.WriteString(piece)
		return piece
	}
	b := joinPairs([]byte(t.held + piece))
	end := len(b) - begun(b)
	t.held = string(b[end:])
	out := strings.ToValidUTF8(string(b[:end]), "\uFFFD")
	t.whole.WriteString(out)
	return out
}

// begun returns how many bytes at the end of b may be the beginning of a character.
func begun(b []byte) int {
	if n := len(b); n >= 3 && utf16.DecodeRune(surrogate(b[n-3:]), 0xdc00) != utf8.RuneError {
		return 3
	}
	for n := 1; n <= min(3, len(b)); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if tail[0] >= utf8.RuneSelf && !utf8.FullRune(tail) {
				return n
			}
			break
		}
	}
	return 0
}

// Len is the length in bytes.
func (t *Text) Len() int { return t.whole.Len() + len(t.held) }

// String returns the text.
func (t *Text) String() string {
	if t.held == "" {
		return t.whole.String()
	}
	return t.whole.String() + "\uFFFD"
}
