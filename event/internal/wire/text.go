package wire

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD, each.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	valid := utf8.ValidString(s)
	for from := 0; ; {
		i := plain(s, from)
		if valid {
			dst = append(dst, s[from:i]...)
		} else {
			dst = appendRepaired(dst, s[from:i])
		}
		if i == len(s) {
			return append(dst, '"')
		}
		dst = appendEscape(dst, s[i])
		from = i + 1
	}
}

func appendRepaired(dst []byte, s string) []byte {
	for _, r := range s {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// unquote returns the text of a checked JSON string with its quotes. Half a
// surrogate pair becomes U+FFFD.
func unquote(b []byte) string {
	b = b[1 : len(b)-1]
	i := plain(b, 0)
	if i == len(b) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	for from := 0; ; {
		out.Write(b[from:i])
		if i == len(b) {
			return out.String()
		}
		from = unescape(&out, b, i)
		i = plain(b, from)
	}
}

// unescape writes the character of the escape at i and returns the index after it.
func unescape(out *strings.Builder, b []byte, i int) int {
	c := b[i+1]
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		r := hex4(b[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			r2 := rune(-1)
			if len(b)-i >= 6 && b[i] == '\\' && b[i+1] == 'u' {
				r2 = hex4(b[i+2:])
			}
			if r = utf16.DecodeRune(r, r2); r != utf8.RuneError {
				i += 6
			}
		}
		out.WriteRune(r)
		return i
	}
	out.WriteByte(c)
	return i + 2
}

// hex4 returns the value of the four hex digits b starts with, or -1.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
