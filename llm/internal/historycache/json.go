package historycache

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// AppendJSON appends v as JSON, with <, > and & as they are.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// AppendString appends s as a JSON string, as encoding/json would write it
// without escaping HTML. It processes eight bytes at a time, since long
// histories are mostly text.
func AppendString(dst []byte, s string) []byte {
	dst = append(slices.Grow(dst, len(s)+len(s)/16+16), '"')
	for i := 0; i < len(s); {
		buf, j := dst[:cap(dst)], len(dst)
		for i+8 <= len(s) && j+8 <= len(buf) {
			word := load(s[i:])
			binary.LittleEndian.PutUint64(buf[j:], word)
			odd := special(word)
			if odd == 0 {
				i, j = i+8, j+8
				continue
			}
			plain := bits.TrailingZeros64(odd) / 8
			i, j = i+plain, j+plain
			short := shortEscapes[s[i]]
			if short == 0 || j+2 > len(buf) {
				break
			}
			buf[j], buf[j+1] = '\\', short
			i, j = i+1, j+2
		}
		dst = buf[:j]
		if i < len(s) {
			dst, i = appendNext(dst, s, i)
		}
	}
	return append(dst, '"')
}

// load reads the first eight bytes of s.
func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// special sets the high bit of each byte of word that is not ASCII or must be
// escaped in a JSON string. Bytes above the lowest of them may be set by
// mistake.
func special(word uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	control := word - ones*' '
	quote := (word ^ ones*'"') - ones
	slash := (word ^ ones*'\\') - ones
	return (control | quote | slash | word) & highs
}

// shortEscapes are the characters after the backslash, by the byte they encode.
var shortEscapes = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f'}

// appendNext appends the character of s at i, and the non-ASCII ones after it,
// and returns the position after them. Invalid UTF-8 becomes U+FFFD, and the
// two line separators are escaped.
func appendNext(dst []byte, s string, i int) ([]byte, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return appendASCII(dst, c), i + 1
	}
	for i < len(s) && s[i] >= utf8.RuneSelf {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, `\ufffd`...)
		case r == '\u2028':
			dst = append(dst, `\u2028`...)
		case r == '\u2029':
			dst = append(dst, `\u2029`...)
		default:
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return dst, i
}

const hex = "0123456789abcdef"

func appendASCII(dst []byte, c byte) []byte {
	if short := shortEscapes[c]; short != 0 {
		return append(dst, '\\', short)
	}
	if c >= ' ' {
		return append(dst, c)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
