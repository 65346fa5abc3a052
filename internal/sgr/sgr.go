// Package sgr knows the escape sequences that change how text looks, and nothing
// else: colours, bold, dim, italic, underlined, struck out, reversed, and back (SGR
// in ECMA-48, as terminals have extended it).
//
// # Usage
//
//	for rest := text; rest != ""; {
//		before, style, after, whole := sgr.Cut(rest)
//		…
//	}
//
// Sequences that blink or hide text, move the cursor, or set a title are no style:
// they are dropped, because the text comes from programs which are not trusted.
//
// # Concurrency and failure
//
// All functions are pure. Nothing fails: unknown sequences are dropped.
package sgr

import (
	"strconv"
	"strings"
)

// Reset is the sequence that ends all styles.
const Reset = "\x1b[0m"

// maxSequence bounds a sequence in bytes; longer text is none.
const maxSequence = 64

// Cut splits text around its first escape sequence. style is that sequence in its
// plain form, or empty if it is to be dropped. before and style have no other
// sequence. If text ends within a sequence, whole is false and rest is its beginning.
func Cut(text string) (before, style, rest string, whole bool) {
	i := strings.IndexByte(text, 0x1b)
	if i < 0 {
		return text, "", "", true
	}
	before, rest = text[:i], text[i:]
	if len(rest) == 1 {
		return before, "", rest, false
	}
	if rest[1] != '[' {
		return before, "", rest[1:], true
	}
	end := 2
	for end < len(rest) && rest[end] >= 0x20 && rest[end] < 0x40 {
		end++
	}
	switch {
	case end > maxSequence:
		return before, "", rest[end:], true
	case end == len(rest):
		return before, "", rest, false
	case rest[end] < 0x40 || rest[end] >= 0x7f:
		return before, "", rest[end:], true
	case rest[end] == 'm':
		style = parse(rest[2:end])
	}
	return before, style, rest[end+1:], true
}

// Strip returns text without escape sequences.
func Strip(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	var b strings.Builder
	for text != "" {
		before, _, rest, whole := Cut(text)
		b.WriteString(before)
		if !whole {
			break
		}
		text = rest
	}
	return b.String()
}

// parse returns the sequence with the given parameters, or nothing.
func parse(text string) string {
	var params []int
	for p := range strings.SplitSeq(text, ";") {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil && p != "" {
			return ""
		}
		params = append(params, int(n))
	}
	return string(Append(nil, params))
}

// Append appends the sequence with the allowed parameters; nothing if none is. No
// parameters mean [Reset].
func Append(dst []byte, params []int) []byte {
	if len(params) == 0 {
		return append(dst, Reset...)
	}
	start := len(dst)
	for len(params) > 0 {
		n := length(params)
		if n == 0 {
			break // of an unknown length: the others cannot be told apart
		}
		if allowed(params[0]) {
			for _, p := range params[:n] {
				if len(dst) == start {
					dst = append(dst, "\x1b["...)
				} else {
					dst = append(dst, ';')
				}
				dst = strconv.AppendInt(dst, int64(p), 10)
			}
		}
		params = params[n:]
	}
	if len(dst) > start {
		dst = append(dst, 'm')
	}
	return dst
}

// length is how many parameters belong to the first one: a colour of a palette or
// of its parts has several. It is 0 if that cannot be known.
func length(params []int) int {
	if params[0] != 38 && params[0] != 48 {
		return 1
	}
	n := 0
	switch {
	case len(params) >= 3 && params[1] == 5:
		n = 3
	case len(params) >= 5 && params[1] == 2:
		n = 5
	}
	for _, p := range params[min(2, n):n] {
		if p > 255 {
			return 0
		}
	}
	return n
}

func allowed(p int) bool {
	switch {
	case p >= 0 && p <= 4, p == 7, p == 9, p >= 22 && p <= 24, p == 27, p == 29:
		return true
	}
	return p >= 30 && p <= 49 || p >= 90 && p <= 107 && p != 98 && p != 99
}
