package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deft-dev/deft/secret"
)

// captured runs chunks through a filter into a capture with a limit.
func captured(t *testing.T, limit int, chunks ...string) clipped {
	t.Helper()
	r := secret.NewRegistry(secret.Options{})
	r.Set(secret.Named{Name: "TOKEN", Source: secret.Static("hunter2-sesame", "")})
	c := newCapture(limit, t.TempDir(), 1<<20)
	c.mask = r.Stream()
	f := newFilter(5, 40, c.addStyled, nil)
	for _, chunk := range chunks {
		f.write([]byte(chunk))
	}
	f.reset()
	f.flush()
	return c.finish()
}

func TestLooks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, text, styles string }{
		{"plain", "a\r\nb", "a\nb", ""},
		{"a word", "a \x1b[31mred\x1b[0m b", "a red b", "2:31 5:"},
		{"over lines", "\x1b[1;32mok\r\nyes\x1b[m\r\nno", "ok\nyes\nno", "0:1;32 7:"},
		{"to the end", "\x1b[4mx", "x", "0:4 1:"},
		{"characters", "ä😀\x1b[31mé\x1b[39m.", "ä😀é.", "2:31 3:"},
		{"overwritten", "\x1b[31mabcdef\r\x1b[32mxy\x1b[0m", "xycdef", "0:32 2:31 6:"},
		{"overwritten by plain text", "\x1b[31m10%\x1b[0m\r100%", "100%", ""},
		{"erased", "\x1b[31mabc\r\x1b[K\x1b[32mx", "x", "0:32 1:"},
		{"deleted", "ab\x1b[31mcd\x1b[0m\r\x1b[P", "bcd", "1:31 3:"},
		{"blanks", "\x1b[31mab\x1b[0m\x1b[3Cc", "ab   c", "0:31 2:"},
		{"scrolled", strings.Repeat("\x1b[31mr\x1b[0mp\r\n", 8), strings.Repeat("rp\n", 8), "0:31 1: 3:31 4: 6:31 7: 9:31 10: 12:31 13: 15:31 16: 18:31 19: 21:31 22:"},
		{"a secret", "\x1b[31mhunter2-sesame\x1b[0m b", "<secret-hidden> b", "0:31 15:"},
		{"a colour that no sequence of a style has", "\x1b[38:5:1mx\x1b[8my", "xy", ""},
		{"a full screen", "a\x1b[?1049h\x1b[31mred\x1b[?1049lb", "ab", ""},
	} {
		if got := captured(t, 1000, tt.in); got.text != tt.text || got.styles != tt.styles {
			t.Errorf("%s: %q %q, want %q %q", tt.name, got.text, got.styles, tt.text, tt.styles)
		}
	}
}

func TestLooksOfCutText(t *testing.T) {
	t.Parallel()
	got := captured(t, 10, "\x1b[31mabc\x1b[32mdefghijkl\x1b[0mmnopqrst")
	before, after, _ := strings.Cut(got.text, "\n[")
	if before != "abcde" || !strings.HasSuffix(after, "pqrst") || got.styles != "0:31 3:32 5:" {
		t.Errorf("%q %q", got.text, got.styles)
	}
	got = captured(t, 10, "abcdefghijkl\x1b[32mmnop\x1b[0mqrst")
	notice := len([]rune(got.text)) - 10 // it names a file, whose name is longer or shorter
	if got.styles != fmt.Sprintf("%d:32 %d:", 5+notice, 6+notice) {
		t.Errorf("in the tail: %q %q", got.text, got.styles)
	}
	many := captured(t, 100_000, strings.Repeat("\x1b[31mr\x1b[0mp", 20_000))
	marks := strings.Fields(many.styles)
	if len(marks) > 3*maxLooks+2 || marks[0] != "0:31" || marks[len(marks)-1] != "39999:" {
		t.Errorf("%d marks, the first %q, the last %q", len(marks), marks[0], marks[len(marks)-1])
	}
}
