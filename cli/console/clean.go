package console

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes foreign text safe to show on one line: control characters, escapes
// among them, bytes that are no UTF-8, and characters that reorder or hide text
// become visible as U+FFFD.
func Line(s string) string { return clean(s) }

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
		case unicode.IsControl(r), deceives(r), joins(r) && !joinable(r, before):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r) // also U+FFFD, which a bad byte reads as
		}
		before = r
	}
	return b.String()
}

// joins reports the characters without width that scripts and emoji need: the
// joiners and the choice of an emoji's form. Elsewhere they only hide a
// difference.
func joins(r rune) bool { return r == 0x200C || r == 0x200D || r == 0xFE0F || r == 0xFE0E }

// joinable reports whether a character that joins may follow another.
func joinable(r, before rune) bool {
	switch {
	case r == 0xFE0E || r == 0xFE0F: // after keycaps too: 1️⃣
		return unicode.In(before, unicode.So, unicode.Sm, unicode.Sk, unicode.Po) || before >= '0' && before <= '9' || before == '#' ||
			before == 0x2B50 || before == 0x203C
	case r == 0x200D && (unicode.In(before, unicode.So, unicode.Sk) || before == 0xFE0F): // 👩‍💻
		return true
	}
	return unicode.In(before, joining...)
}

// joining are the scripts that use joiners (Unicode Standard Annex 31, section
// 2.3).
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// deceives reports characters that reorder or break the text after them, which can
// make a command look like another ("Trojan Source"), and characters that show
// nothing.
func deceives(r rune) bool {
	switch {
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x206F: // embeddings, overrides, isolates, obsolete formats
	case r == 0x200E, r == 0x200F, r == 0x061C: // direction marks
	case r == 0x2028, r == 0x2029: // line and paragraph separator
	case r >= 0xE0000 && r <= 0xE0FFF: // tags and more variation selectors
	case r == 0x200B, r == 0xFEFF, r == 0x00AD, r == 0x034F, r >= 0x2060 && r <= 0x2065: // without width
	case r >= 0x180B && r <= 0x180F, r == 0x17B4, r == 0x17B5, r >= 0xFE00 && r <= 0xFE0D: // marks that show nothing
	case r >= 0xFFF0 && r <= 0xFFFB, r >= 0x1BCA0 && r <= 0x1BCA3, r >= 0x1D173 && r <= 0x1D17A: // of annotations, shorthand, music
	case r == 0x115F, r == 0x1160, r == 0x2800, r == 0x3164, r == 0xFFA0: // letters that show nothing
	default:
		return false
	}
	return true
}
