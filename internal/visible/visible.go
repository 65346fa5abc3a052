// Package visible finds characters of foreign text that hide something or that make it
// look like another text, and shows them.
//
// # Usage
//
//	fmt.Println(visible.Text(command)) // "echo \u{202e}…"
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Nothing fails; a byte that is no UTF-8 becomes
// U+FFFD.
package visible

import (
	"strconv"
	"strings"
	"unicode"
)

// Text returns text with every hidden character as \u{…}, its number in hexadecimal. Line
// breaks and tabs stay; a carriage return before a line break is dropped.
func Text(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	before := ' '
	for i, r := range text {
		switch {
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
		case Hides(r, before):
			b.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + `}`)
		default:
			b.WriteRune(r) // also U+FFFD, which a bad byte reads as
		}
		before = r
	}
	return b.String()
}

// Hides reports whether a character must not be shown as it is after another one: a control
// character (line breaks and tabs are some), or one that reorders or hides text.
func Hides(r, before rune) bool {
	return unicode.IsControl(r) || deceives(r) || joins(r) && !joinable(r, before)
}

// Plain reports whether a character is shown as it is wherever it stands.
func Plain(r rune) bool { return !unicode.IsControl(r) && !deceives(r) && !joins(r) }

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
