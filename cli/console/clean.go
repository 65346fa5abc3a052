package console

import (
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/internal/visible"
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
		case visible.Hides(r, before):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r) // also U+FFFD, which a bad byte reads as
		}
		before = r
	}
	return b.String()
}
