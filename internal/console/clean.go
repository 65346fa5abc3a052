package console

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes a line of foreign text safe to show: control characters,
// escapes among them, bytes that are no UTF-8, and characters that reorder or
// hide text become visible as U+FFFD.
func clean(s string) string { return safe(s, false) }

// cleanText is clean for text with line breaks.
func cleanText(s string) string { return safe(s, true) }

func safe(s string, breaks bool) string {
	if breaks {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	var b strings.Builder
	b.Grow(len(s))
	before := ' '
	for _, r := range s {
		switch {
		case r == '\t', r == '\n' && breaks:
			b.WriteRune(r)
		case unicode.IsControl(r), deceives(r), joins(r) && (before <= unicode.MaxASCII || joins(before)):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r) // also U+FFFD, which a bad byte reads as
		}
		before = r
	}
	return b.String()
}

// joins reports the zero-width joiners, which scripts and emoji need. After an
// ASCII character, or after each other, they only hide a difference.
func joins(r rune) bool { return r == 0x200C || r == 0x200D }

// deceives reports characters that reorder or break what follows them, which
// can make a command look like another ("Trojan Source"), and those that spell
// out invisible text.
func deceives(r rune) bool {
	switch {
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069: // embeddings, overrides, isolates
	case r == 0x200E, r == 0x200F, r == 0x061C: // direction marks
	case r == 0x2028, r == 0x2029: // line and paragraph separator
	case r >= 0xE0000 && r <= 0xE007F: // tags
	case r == 0x200B, r == 0xFEFF, r == 0x00AD, r == 0x034F, r == 0x180E, r >= 0x2060 && r <= 0x2065: // without width
	case r == 0x115F, r == 0x1160, r == 0x2800, r == 0x3164, r == 0xFFA0: // letters that show nothing
	default:
		return false
	}
	return true
}

// Line makes foreign text safe to show on one line.
func Line(s string) string { return clean(s) }
