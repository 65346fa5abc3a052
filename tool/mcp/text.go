package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// describe makes a server's text safe for models and people: without terminal
// escapes, control and invisible characters, and not longer than limit bytes.
func describe(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || hidden(r) {
			return -1
		}
		return r
	}, plain(s))
	s = strings.TrimSpace(s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// clean removes from a result all characters that could manipulate a terminal or
// hide text from a person. Joiners stay, because scripts and emoji need them.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return r
		}
		if unicode.IsControl(r) || hidden(r) {
			return -1
		}
		return r
	}, plain(s))
}

// hidden reports runes that carry invisible text or change its direction: tags,
// unusual variation selectors, bidirectional controls.
func hidden(r rune) bool {
	return r >= 0xE0000 && r <= 0xE0FFF || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// plain returns s as valid UTF-8 without terminal escape sequences.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsAny(s, "\x1b\u009b\u009d\u0090") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if end := escapeEnd(s, i, r, n); end > i {
			i = end
			continue
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// escapeEnd returns where the escape sequence that starts at i ends, or i when
// none starts there.
func escapeEnd(s string, i int, r rune, n int) int {
	kind := r
	if r == 0x1b {
		if i+n >= len(s) {
			return i + n
		}
		var k int
		kind, k = utf8.DecodeRuneInString(s[i+n:])
		n += k
		switch kind {
		case '[':
			kind = 0x9b
		case ']', 'P', 'X', '^', '_':
			kind = 0x9d
		default:
			return i + n
		}
	}
	switch kind {
	case 0x9b: // CSI: parameters, then one final byte
		for j := i + n; j < len(s); j++ {
			if s[j] >= 0x40 && s[j] <= 0x7e {
				return j + 1
			}
			if s[j] < 0x20 || s[j] > 0x7e {
				return j
			}
		}
		return len(s)
	case 0x9d, 0x90: // a string, up to BEL or ST
		for j := i + n; j < len(s); j++ {
			switch {
			case s[j] == 0x07:
				return j + 1
			case s[j] == 0x1b && j+1 < len(s) && s[j+1] == '\\':
				return j + 2
			case s[j] == '\n':
				return j
			}
		}
		return len(s)
	}
	return i
}

// maxName is how long providers allow the name of a function to be.
const maxName = 64

// toolName converts a name to the characters that providers accept. A name that
// is too long ends in a hash of the whole, so that two names stay different.
func toolName(s string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(s))
		name = name[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return name
}

// shorten keeps the two ends of a text that is longer than limit bytes.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	half := limit / 2
	head, tail := strings.ToValidUTF8(s[:half], ""), strings.ToValidUTF8(s[len(s)-half:], "")
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, len(s)-len(head)-len(tail), tail)
}
