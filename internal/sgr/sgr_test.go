package sgr_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/sgr"
)

// cut returns a text with its styles in plain form, and its last style.
func cut(text string) (out, open string) {
	for text != "" {
		before, style, rest, whole := sgr.Cut(text)
		out += before + style
		if !whole {
			return out, rest
		}
		text = rest
	}
	return out, ""
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want, open string }{
		{"plain", "a b\n", "a b\n", ""},
		{"colour", "\x1b[31mred\x1b[m.", "\x1b[31mred\x1b[0m.", ""},
		{"several", "\x1b[1;4;92;104mx", "\x1b[1;4;92;104mx", ""},
		{"palette", "\x1b[38;5;208;1mx", "\x1b[38;5;208;1mx", ""},
		{"parts", "\x1b[48;2;1;2;3mx", "\x1b[48;2;1;2;3mx", ""},
		{"no colour of a palette", "\x1b[38;5;300mx\x1b[1;38mx", "x\x1b[1mx", ""},
		{"hides", "\x1b[8mx\x1b[5;31mx", "x\x1b[31mx", ""},
		{"empty parameter", "\x1b[;1mx", "\x1b[0;1mx", ""},
		{"colons", "\x1b[4:3mx", "x", ""},
		{"private", "\x1b[?25lx\x1b[>4mx", "xx", ""},
		{"cursor", "\x1b[2J\x1b[1;1Hx", "x", ""},
		{"other escapes", "\x1b]0;t\x07x\x1b(B", "]0;t\x07x(B", ""},
		{"number", "\x1b[99999999999mx", "x", ""},
		{"broken", "\x1b[31\nx", "\nx", ""},
		{"open", "x\x1b[3", "x", "\x1b[3"},
		{"open at once", "x\x1b", "x", "\x1b"},
		{"endless", "\x1b[" + strings.Repeat("1;", 100), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, open := cut(c.in)
			if out != c.want || open != c.open {
				t.Errorf("got %q and %q, want %q and %q", out, open, c.want, c.open)
			}
			if got := sgr.Strip(c.in); strings.Contains(got, "\x1b") {
				t.Errorf("stripped: %q", got)
			}
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a\x1b[31mb\x1b[m")
	f.Fuzz(func(t *testing.T, text string) {
		out, _ := cut(text)
		if again, open := cut(out); again != out || open != "" {
			t.Errorf("%q becomes %q, then %q", text, out, again)
		}
	})
}
